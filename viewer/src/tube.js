// A link as a tube whose rings follow its sections.
import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Mesh } from "three";

/**
 * Makes the mesh of a link with a number of sections; `bendTube` moves it. A tapered one has a
 * profile: what part of the points' y and z each section has.
 */
export function makeTube(points, stations, material, profile = null) {
  const geometry = new BufferGeometry();
  const around = points.length;
  const count = stations * around + 2 * (around + 1); // rings, then a cap at each end
  const attributes = {};
  for (const name of ["position", "normal", "color"]) {
    attributes[name] = new BufferAttribute(new Float32Array(3 * count), 3);
    attributes[name].setUsage(DynamicDrawUsage);
    geometry.setAttribute(name, attributes[name]);
  }
  geometry.setIndex(indices(points, stations));
  const mesh = new Mesh(geometry, material);
  mesh.frustumCulled = false; // it moves, and its bounds with it
  const outline = Float64Array.from(points.flatMap(({ y, z, ny, nz }) => [y, z, ny, nz]));
  return { mesh, points, outline, stations, attributes, profile, painted: null };
}

/** Measures width and height of each section, as they are drawn. */
export function measureTube({ points, stations, attributes }, centres, turns) {
  const position = attributes.position.array;
  const found = new Float64Array(2 * stations);
  for (let s = 0; s < stations; s++) {
    for (let i = 0; i < points.length; i++) {
      for (const axis of [1, 2]) {
        let along = 0;
        for (let k = 0; k < 3; k++) {
          const off = position[3 * (s * points.length + i) + k] - centres[3 * s + k];
          along += off * turns[9 * s + 3 * k + axis];
        }
        const at = 2 * s + axis - 1;
        found[at] = Math.max(found[at], 2 * Math.abs(along));
      }
    }
  }
  return found;
}

/** Puts a tube's rings where its sections are. */
export function bendTube(tube, centres, turns) {
  const { stations, attributes } = tube;
  const position = attributes.position.array;
  const normal = attributes.normal.array;
  let at = 0;
  for (let s = 0; s < stations; s++) {
    at = ring(tube, centres, turns, s, position, normal, at);
  }
  for (const [s, sign] of [[0, -1], [stations - 1, 1]]) {
    at = cap(tube, centres, turns, s, sign, position, normal, at);
  }
  attributes.position.needsUpdate = attributes.normal.needsUpdate = true;
}

/** Makes a tube straight along x, over a length [m], in axes that its mesh is then placed by. */
export function straightenTube(tube, length) {
  const { stations } = tube;
  const centres = Float64Array.from({ length: 3 * stations }, (_, k) => (k % 3 ? 0 : (length * k) / (3 * stations - 3)));
  bendTube(tube, centres, Float64Array.from({ length: 9 * stations }, (_, k) => (k % 9 % 4 ? 0 : 1)));
}

/** Paints a tube; `colours` has red, green, blue per section. */
export function paintTube(tube, colours) {
  const { stations, attributes } = tube;
  if (tube.painted?.every((x, k) => x === colours[k])) return;
  tube.painted = Float32Array.from(colours);
  paint(attributes.color.array, tube.points, stations, tube.painted);
  attributes.color.needsUpdate = true;
}

// Normals are those of the outline: how a tube tapers is too little to be seen in its shading.
function ring({ outline, profile }, centres, turns, s, position, normal, at) {
  const wide = profile ? profile[2 * s] : 1;
  const high = profile ? profile[2 * s + 1] : 1;
  for (let k = 0; k < 3; k++) {
    const centre = centres[3 * s + k];
    const ey = turns[9 * s + 3 * k + 1];
    const ez = turns[9 * s + 3 * k + 2];
    for (let i = 0, to = at + k; i < outline.length; i += 4, to += 3) {
      position[to] = centre + wide * outline[i] * ey + high * outline[i + 1] * ez;
      normal[to] = outline[i + 2] * ey + outline[i + 3] * ez;
    }
  }
  return at + (3 * outline.length) / 4;
}

function cap(tube, centres, turns, s, sign, position, normal, at) {
  const start = at;
  at += 3;
  for (let k = 0; k < 3; k++) position[start + k] = centres[3 * s + k];
  const end = ring(tube, centres, turns, s, position, normal, at);
  for (let i = start; i < end; i += 3) {
    for (let k = 0; k < 3; k++) normal[i + k] = sign * turns[9 * s + 3 * k];
  }
  return end;
}

function paint(target, points, stations, colours) {
  let at = 0;
  const put = (s, shade) => {
    for (let k = 0; k < 3; k++) target[at++] = colours[3 * s + k] * shade;
  };
  for (let s = 0; s < stations; s++) for (const { shade } of points) put(s, shade);
  for (const s of [0, stations - 1]) for (let k = 0; k <= points.length; k++) put(s, 1);
}

function indices(points, stations) {
  const around = points.length;
  const found = [];
  // Sides between points that are in the same place have no area and are left out.
  const sides = [];
  for (let k = 0; k < around; k++) {
    const a = points[k];
    const b = points[(k + 1) % around];
    if (Math.hypot(a.y - b.y, a.z - b.z) > 0) sides.push([k, (k + 1) % around]);
  }
  for (let s = 0; s + 1 < stations; s++) {
    for (const [k, next] of sides) {
      const a = s * around + k;
      const b = s * around + next;
      found.push(a, b, a + around, b, b + around, a + around);
    }
  }
  const caps = stations * around;
  for (const [first, flip] of [[caps, true], [caps + around + 1, false]]) {
    for (const [k, next] of sides) {
      const a = first + 1 + k;
      const b = first + 1 + next;
      found.push(first, flip ? b : a, flip ? a : b);
    }
  }
  return found;
}
