// Outlines of cross-sections: points with their normals, in order around the section.

const SIDES = 24;

/** How thick links are drawn: as they are, but never so thin that they cannot be seen. */
export function drawnSizes(arm, reach) {
  const lengths = arm.links.map((link) => link.length).filter((length) => length > 0);
  const middle = lengths.sort((a, b) => a - b)[lengths.length >> 1] ?? reach;
  const least = Math.min(0.012 * reach, 0.18 * middle); // of the smaller side
  const usual = Math.min(0.022 * reach, 0.22 * middle);
  return arm.links.map(({ section }) => {
    if (!section) return { width: usual, height: usual };
    const unit = section.relative ? usual : 1; // of a table that tells only how thickness changes
    const [width, height] = [unit * section.width, unit * section.height];
    const factor = Math.max(1, least / Math.min(width, height));
    const limit = Math.max(5 * least, width, height);
    return {
      width: Math.min(width * factor, limit),
      height: Math.min(height * factor, limit),
    };
  });
}

/** Half the larger side of a link where it begins, and where it ends. */
export function girths({ section }, { width, height }) {
  const part = section?.profile?.values ?? [1, 1];
  const at = (k) => Math.max(width * part[k], height * part[k + 1]) / 2;
  return { root: at(0), tip: at(part.length - 2) };
}

/** Traces the outline of a link's section, drawn at a given size. */
export function outline(section, { width, height }) {
  const kind = section ? section.kind : "tube";
  if (kind === "tube") return round(width / 2, height / 2);
  const w = width / 2;
  const h = height / 2;
  if (kind !== "I") {
    return polygon([[-w, -h], [w, -h], [w, h], [-w, h]]);
  }
  const t = h - (section.flange / section.height) * height;
  const b = (w * section.web) / section.width;
  return polygon([
    [-w, -h], [w, -h], [w, -t], [b, -t], [b, t], [w, t],
    [w, h], [-w, h], [-w, t], [-b, t], [-b, -t], [-w, -t],
  ]);
}

// A stripe along a round tube shows how it twists.
function round(a, b) {
  const points = [];
  for (let k = 0; k <= SIDES; k++) {
    const angle = (2 * Math.PI * k) / SIDES;
    const y = Math.cos(angle);
    const z = Math.sin(angle);
    const stripe = k % (SIDES / 2) <= 1;
    const size = Math.hypot(y / a, z / b);
    const normal = { ny: y / a / size, nz: z / b / size };
    points.push({ y: a * y, z: b * z, ...normal, shade: stripe ? 0.62 : 1 });
  }
  return points;
}

// Corners are there twice, once per side, so that edges stay sharp.
function polygon(corners) {
  const points = [];
  corners.forEach(([y, z], k) => {
    const [ye, ze] = corners[(k + 1) % corners.length];
    const size = Math.hypot(ye - y, ze - z);
    const normal = { ny: (ze - z) / size, nz: (y - ye) / size, shade: 1 };
    points.push({ y, z, ...normal }, { y: ye, z: ze, ...normal });
  });
  return points;
}
