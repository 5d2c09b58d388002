// Which way the axes and gravity point, in a corner of the stage.
import { Vector3 } from "three";

const SVG = "http://www.w3.org/2000/svg";
const SIZE = 92;
const ARM = 30;
const FLAT = 0.25; // of an axis, as it is seen: what is shorter lies under the others
const BESIDE = [-11, 5]; // [px]: where its letter stands

/** Makes the compass; `gravity` [m/s^2] has an arrow of its own unless it is 0. */
export function makeCompass(svg, gravity) {
  svg.setAttribute("viewBox", `0 0 ${SIZE} ${SIZE}`);
  const rows = [["x", [1, 0, 0]], ["y", [0, 1, 0]], ["z", [0, 0, 1]]];
  const size = Math.hypot(...gravity);
  if (size > 0) rows.push(["g", gravity.map((each) => each / size)]);
  const arrows = rows.map(([name, axis]) => {
    const group = document.createElementNS(SVG, "g");
    group.setAttribute("class", `axis-${name}`);
    const line = document.createElementNS(SVG, "line");
    const head = document.createElementNS(SVG, "path");
    const text = document.createElementNS(SVG, "text");
    text.textContent = name;
    group.append(line, head, text);
    svg.append(group);
    return { group, line, head, text, axis: new Vector3(...axis), name };
  });
  svg.setAttribute(
    "aria-label",
    size > 0 ? `Axes x, y, z and gravity g, ${size.toPrecision(3)} m/s²` : "Axes x, y, z; no gravity",
  );
  return { svg, arrows };
}

/** Turns the compass with the camera. */
export function turnCompass(compass, camera) {
  if (compass.seen?.equals(camera.quaternion)) return;
  compass.seen = camera.quaternion.clone();
  const { svg, arrows } = compass;
  const towards = camera.quaternion.clone().invert();
  const seen = arrows.map((arrow) => {
    const v = arrow.axis.clone().applyQuaternion(towards);
    const long = arrow.name === "g" ? 1.12 * ARM : ARM;
    const [x, y] = [SIZE / 2 + long * v.x, SIZE / 2 - long * v.y];
    for (const [name, value] of [["x1", SIZE / 2], ["y1", SIZE / 2], ["x2", x], ["y2", y]]) {
      arrow.line.setAttribute(name, value.toFixed(2));
    }
    const flat = Math.hypot(v.x, v.y) || 1e-9;
    const [ux, uy] = [v.x / flat, -v.y / flat];
    const tip = [x + 5 * ux, y + 5 * uy];
    const [left, right] = [[x - 3 * uy, y + 3 * ux], [x + 3 * uy, y - 3 * ux]];
    arrow.head.setAttribute("d", `M${[tip, left, right].map((p) => p.map((c) => c.toFixed(2))).join("L")}Z`);
    // Where gravity runs against an axis or along it, its letter stands beside; so does that of an axis
    // that points at the eye.
    const along = arrow.name === "g" ? [9 * uy, 4 - 9 * ux] : [10 * ux, 4 + 10 * uy];
    const off = flat < FLAT ? BESIDE : along;
    arrow.text.setAttribute("x", (x + off[0]).toFixed(2));
    arrow.text.setAttribute("y", (y + off[1]).toFixed(2));
    arrow.group.style.opacity = flat < 0.12 ? 0.6 : 1;
    return { arrow, depth: v.z };
  });
  seen.sort((a, b) => a.depth - b.depth);
  for (const { arrow } of seen) svg.append(arrow.group);
}
