// A link as a tube whose rings follow its sections.
import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Mesh } from "three";

/**
 * Makes a tube with a number of sections; `joinTubes` gives it a place in a mesh, `bendTube` moves it. A tapered one
 * has a profile: what part of the points' y and z each section has.
 */
export function makeTube(points, stations, profile = null) {
  const outline = Float64Array.from(points.flatMap(({ y, z, ny, nz }) => [y, z, ny, nz]));
  const count = stations * points.length + 2 * (points.length + 1); // rings, then a cap at each end
  const painted = new Float32Array(3 * stations).fill(NaN);
  return { points, outline, stations, count, profile, painted, seen: true };
}

/** Makes one mesh of tubes; those that are not `seen` have their places, and are not drawn. */
export function joinTubes(tubes, material) {
  const geometry = new BufferGeometry();
  const attributes = {};
  const count = tubes.reduce((sum, tube) => sum + tube.count, 0);
  for (const name of ["position", "normal", "color"]) {
    attributes[name] = new BufferAttribute(new Float32Array(3 * count), 3);
    attributes[name].setUsage(DynamicDrawUsage);
    geometry.setAttribute(name, attributes[name]);
  }
  const index = [];
  let first = 0;
  for (const tube of tubes) {
    Object.assign(tube, { attributes, first });
    if (tube.seen) for (const k of indices(tube.points, tube.stations)) index.push(first + k);
    first += tube.count;
  }
  geometry.setIndex(index);
  const mesh = new Mesh(geometry, material);
  mesh.frustumCulled = false; // it moves, and its bounds with it
  return mesh;
}

/** Measures width and height of each section, as they are drawn. */
export function measureTube({ points, stations, attributes, first }, centres, turns) {
  const position = attributes.position.array;
  const found = new Float64Array(2 * stations);
  for (let s = 0; s < stations; s++) {
    for (let i = 0; i < points.length; i++) {
      for (const axis of [1, 2]) {
        let along = 0;
        for (let k = 0; k < 3; k++) {
          const off = position[3 * (first + s * points.length + i) + k] - centres[3 * s + k];
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
  let at = 3 * tube.first;
  for (let s = 0; s < stations; s++) {
    at = ring(tube, centres, turns, s, position, normal, at);
  }
  at = cap(tube, centres, turns, 0, -1, position, normal, at);
  cap(tube, centres, turns, stations - 1, 1, position, normal, at);
  attributes.position.needsUpdate = attributes.normal.needsUpdate = true;
}

/** Paints a tube, where it has another colour by now; `colours` has red, green, blue per section. */
export function paintTube({ points, stations, attributes, first, painted }, colours) {
  const { array } = attributes.color;
  const around = points.length;
  const caps = first + stations * around;
  for (let s = 0, k = 0; s < stations; s++, k += 3) {
    if (painted[k] === colours[k] && painted[k + 1] === colours[k + 1] && painted[k + 2] === colours[k + 2]) continue;
    for (let i = k; i < k + 3; i++) painted[i] = colours[i];
    for (let i = 0; i < around; i++) dye(array, first + s * around + i, painted, k, points[i].shade);
    for (let i = 0; i <= around && s === 0; i++) dye(array, caps + i, painted, k, 1);
    for (let i = 0; i <= around && s === stations - 1; i++) dye(array, caps + around + 1 + i, painted, k, 1);
    attributes.color.needsUpdate = true;
  }
}

function dye(array, vertex, colours, k, shade) {
  for (let i = 0; i < 3; i++) array[3 * vertex + i] = colours[k + i] * shade;
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
