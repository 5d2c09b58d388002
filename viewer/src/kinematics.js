// Poses an arm from its state: base, then joint and shape amplitudes per link.
//
// The same kinematics as in Python: a section of a link is displaced by its shapes (and drawn in by
// bending, where stiffening is on) and turned by a Cayley rotation, or it bends exactly; a joint
// sits on the base, on the tip of its parent, on a section of it, or rides on it at a station.
// `scale` draws displacements and turns, or the amplitudes of an exact link, larger or smaller than
// they are; 0 is the rigid arm.
import { curvatures, reached, sum, tangents, turnExactly } from "./exact.js";

const multiply = (a, b, out) => {
  for (let i = 0; i < 9; i += 3) {
    for (let j = 0; j < 3; j++) {
      out[i + j] = a[i] * b[j] + a[i + 1] * b[j + 3] + a[i + 2] * b[j + 6];
    }
  }
  return out;
};

const add = (p, rotation, v, out) => {
  for (let i = 0; i < 3; i++) {
    const r = 3 * i;
    out[i] = p[i] + rotation[r] * v[0] + rotation[r + 1] * v[1] + rotation[r + 2] * v[2];
  }
  return out;
};

const size = (x, y, z) => Math.sqrt(x * x + y * y + z * z); // Math.hypot takes many times as long
const DEFLECTED = new Set(["plain", "deflection"]); // fields that take no more than deflections

const frame = () => ({ R: new Float64Array(9), p: new Float64Array(3) });

const place = (from, pose, out) => {
  add(from.p, from.R, pose.p, out.p);
  multiply(from.R, pose.R, out.R);
};

/** Makes room for a pose of an arm, or of one that is always `straight`. */
export function makePose(arm, straight = false) {
  return {
    base: frame(),
    links: arm.links.map((link) => {
      const plain = !link.shape || (straight && isStraight(link) && !link.section?.profile);
      const stations = plain ? 2 : link.shape.turned.shape[0];
      const nodes = link.shape?.nodes?.stretch.shape[0] ?? 0;
      return {
        joint: frame(), // before it moves
        turned: frame(), // after
        root: frame(),
        tip: frame(),
        mount: link.shape?.rail ? frame() : null, // where another link rides
        section: frame(), // within its parent, on which its joint may sit
        from: null, // where its joint sits
        exposed: link.length,
        tangents: new Float64Array(3 * nodes),
        centres: new Float64Array(3 * stations),
        turns: new Float64Array(9 * stations),
        deflection: new Float64Array(stations),
        curvature: new Float64Array(stations),
        moment: new Float64Array(stations),
        strain: new Float64Array(stations),
      };
    }),
    tip: frame(),
  };
}

/**
 * Poses an arm; with `ends` only the ends of its links, not the sections between; with `straight` as one whose links
 * are rigid, uncoloured. With a `field`, of what colours sections only that and deflections.
 */
export function poseArm(arm, state, scale, pose, { ends = false, straight = false, field = "all" } = {}) {
  placeBase(arm, state, pose.base);
  const carry = arm.links.map(() => false); // a link between its ends
  for (const { parent, at } of arm.links) if (at !== null) carry[parent] = true;
  arm.links.forEach((link, i) => {
    const out = pose.links[i];
    out.from = link.frame ? bodyFrame(arm, pose, link, out, state, scale) : carrier(arm, pose, link, out);
    place(out.from, link.before, out.joint);
    moveJoint(link, state, out);
    place(out.turned, link.after, out.root);
    if (!link.shape || (straight && isStraight(link))) straightLink(link, state, out);
    else if (link.shape.nodes) bendExactly(link, state, scale, out, ends && !carry[i], field);
    else bendLink(arm, link, state, scale, out, ends && !carry[i], field);
    if (out.mount) placeMount(arm, link, state, scale, out);
  });
  place(pose.links.at(-1).tip, arm.end, pose.tip);
  return pose;
}

// The frame in which a joint sits: of a section between two drawn ones, a mean of these.
function carrier(arm, pose, { parent, at, rides }, { section }) {
  if (parent < 0) return pose.base;
  const { root, tip, mount, centres, turns } = pose.links[parent];
  if (at === null) return rides && mount ? mount : tip;
  if (at <= 0) {
    U[0] = at;
    U[1] = U[2] = 0;
    add(root.p, root.R, U, section.p);
    section.R.set(root.R);
    return section;
  }
  const last = centres.length / 3 - 1;
  const along = (last * at) / arm.links[parent].length;
  const k = Math.min(Math.floor(along), last - 1);
  const share = along - k;
  for (let i = 0; i < 3; i++) section.p[i] = (1 - share) * centres[3 * k + i] + share * centres[3 * k + 3 + i];
  for (let i = 0; i < 9; i++) section.R[i] = (1 - share) * turns[9 * k + i] + share * turns[9 * k + 9 + i];
  orthonormalise(section.R);
  return section;
}

// A named frame of a body of any shape.
function bodyFrame(arm, pose, { parent, frame }, { section }, state, scale) {
  const { shape } = arm.links[parent];
  const { root } = pose.links[parent];
  const a = state.subarray(shape.column, shape.column + shape.count);
  displace({ ...frame, quadratic: [], count: shape.count }, 0, a, 1);
  turnSection(ANGLE, scale, arm.firstOrder);
  for (let k = 0; k < 3; k++) U[k] = scale * U[k] + frame.pose.p[k];
  add(root.p, root.R, U, section.p);
  multiply(root.R, E, SO_FAR);
  multiply(SO_FAR, frame.pose.R, section.R);
  return section;
}

function placeBase(arm, state, out) {
  if (!arm.base.moves) {
    out.R.set(arm.base.pose.R);
    out.p.set(arm.base.pose.p);
    return;
  }
  for (let k = 0; k < 3; k++) out.p[k] = state[k];
  for (let k = 0; k < 9; k++) out.R[k] = state[3 + k];
  orthonormalise(out.R);
}

// Between two samples a rotation is interpolated entry by entry.
function orthonormalise(R) {
  const x = unit([R[0], R[3], R[6]]);
  const y = [R[1], R[4], R[7]];
  const along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  const v = unit([y[0] - along * x[0], y[1] - along * x[1], y[2] - along * x[2]]);
  const z = [x[1] * v[2] - x[2] * v[1], x[2] * v[0] - x[0] * v[2], x[0] * v[1] - x[1] * v[0]];
  R.set([x[0], v[0], z[0], x[1], v[1], z[1], x[2], v[2], z[2]]);
}

function unit(v) {
  const size = Math.hypot(...v) || 1;
  return v.map((each) => each / size);
}

const TURN = new Float64Array(9);
const SO_FAR = new Float64Array(9);

// Each coordinate turns about an axis of the frame so far, or moves along its z, or both.
function moveJoint(link, state, out) {
  const { joint, turned } = out;
  turned.R.set(joint.R);
  turned.p.set(joint.p);
  if (link.attitude) {
    TURN.set(state.subarray(link.column, link.column + 9));
    orthonormalise(TURN);
    multiply(joint.R, TURN, turned.R);
    return;
  }
  link.moves.forEach(({ about, travel }, i) => {
    const value = state[link.column + i];
    for (let k = 0; k < 3; k++) turned.p[k] += turned.R[3 * k + 2] * travel * value;
    if (about === null) return;
    turnAbout(about, value);
    SO_FAR.set(turned.R);
    multiply(SO_FAR, TURN, turned.R);
  });
}

function turnAbout(axis, angle) {
  const [i, j] = [(axis + 1) % 3, (axis + 2) % 3];
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  TURN.fill(0);
  TURN[4 * axis] = 1;
  TURN[4 * i] = TURN[4 * j] = c;
  TURN[3 * i + j] = -s;
  TURN[3 * j + i] = s;
}

/** Whether a link that is drawn rigid lies along its axis, and nothing rides on it. */
export const isStraight = ({ shape }) => !shape?.rest && !shape?.rail;

function straightLink(link, state, out) {
  const { root, tip, centres, turns } = out;
  out.exposed = link.shape?.sliding ? unitOf(link, state) : link.length;
  const last = centres.length / 3 - 1;
  for (let s = 0; s <= last; s++) {
    U[0] = (out.exposed * s) / last;
    U[1] = U[2] = 0;
    add(root.p, root.R, U, tip.p);
    centres.set(tip.p, 3 * s);
    turns.set(root.R, 9 * s);
  }
  tip.R.set(root.R);
}

const U = new Float64Array(3);
const ANGLE = new Float64Array(3);
const E = new Float64Array(9);

function bendExactly(link, state, scale, out, ends, field) {
  const { shape } = link;
  const stations = shape.turned.shape[0];
  const a = state.subarray(shape.column, shape.column + shape.count);
  const unitLength = unitOf(link, state);
  out.exposed = shape.sliding ? unitLength : link.length;
  tangents(shape.nodes, a, 1 / unitLength, out.tangents);
  for (let s = ends ? stations - 1 : 0; s < stations; s++) {
    reached(shape.nodes, s, out.tangents, unitLength, U);
    measureExactly(link, s, a, unitLength, out, field);
    if (scale === 1) putExactly(shape, s, a, scale, unitLength, out);
  }
  if (scale === 1) return;
  tangents(shape.nodes, a, scale / unitLength, out.tangents);
  for (let s = ends ? stations - 1 : 0; s < stations; s++) {
    reached(shape.nodes, s, out.tangents, unitLength, U);
    putExactly(shape, s, a, scale, unitLength, out);
  }
}

function putExactly(shape, s, a, scale, unitLength, out) {
  turnExactly(shape, s, a, scale, unitLength, E);
  putSection(s, out);
}

// Shapes of a sliding link are functions of xi = x/l: their slopes are per l.
function unitOf({ shape, column }, state) {
  return shape.sliding ? Math.max(state[column], 1e-12) : 1;
}

function putSection(s, out) {
  add(out.root.p, out.root.R, U, out.tip.p);
  multiply(out.root.R, E, out.tip.R);
  out.centres.set(out.tip.p, 3 * s);
  out.turns.set(out.tip.R, 9 * s);
}

// What colours a section that is at U, as it is.
function measureExactly(link, s, a, unitLength, out, field) {
  const { shape } = link;
  const along = U[0];
  U[0] -= (out.exposed * s) / (shape.turned.shape[0] - 1);
  out.deflection[s] = size(U[0], U[1], U[2]);
  U[0] = along;
  if (DEFLECTED.has(field)) return;
  const [y, z] = curvatures(shape, s, a, unitLength);
  colour(link, s, y, z, sum(shape.stretch, s, a) / unitLength, out);
}

function bendLink(arm, link, state, scale, out, ends, field) {
  const { shape } = link;
  const stations = shape.moved.shape[0];
  const m = shape.count;
  const a = state.subarray(shape.column, shape.column + m);
  const unitLength = unitOf(link, state);
  out.exposed = shape.sliding ? unitLength : link.length;
  for (let s = ends ? stations - 1 : 0; s < stations; s++) {
    displace(shape, s, a, unitLength);
    out.deflection[s] = size(U[0], U[1], U[2]);
    if (!DEFLECTED.has(field)) measure(arm, link, s, a, unitLength, out);
    for (const { axis, table } of shape.quadraticTurn) {
      ANGLE[axis] += quadratic(table.values, s, a, shape.count) / 2;
    }
    const y2 = ANGLE[1] * ANGLE[1];
    const z2 = ANGLE[2] * ANGLE[2];
    const tangent = arm.stiffening && !arm.firstOrder && !shape.rest;
    const growth = tangent ? 1 + (y2 + z2) / 4 : 1;
    turnSection(ANGLE, scale * growth, arm.firstOrder);
    for (let k = 0; k < 3; k++) U[k] = scale * U[k] + (shape.rest?.values[3 * s + k] ?? 0);
    if (!shape.rest) U[0] += (out.exposed * s) / (stations - 1);
    putSection(s, out);
  }
}

// Places the section of a rail at the station of what rides on it.
function placeMount(arm, { shape }, state, scale, out) {
  const { rail, nodes, count, column } = shape;
  const a = state.subarray(column, column + count);
  const x = state[rail.column] - rail.root;
  const turned = atStation(rail, rail.turned, x);
  if (nodes) {
    reached({ reach: atStation(rail, rail.reach, x) }, 0, out.tangents, 1, U);
    turnExactly({ turned }, 0, a, scale, 1, E);
  } else {
    const moved = atStation(rail, rail.moved, x);
    displace({ moved, turned, quadratic: [], count }, 0, a, 1);
    turnSection(ANGLE, scale, arm.firstOrder);
    for (let k = 0; k < 3; k++) U[k] *= scale;
    U[0] += x;
  }
  add(out.root.p, out.root.R, U, out.mount.p);
  multiply(out.root.R, E, out.mount.R);
}

// Sums panelwise Legendre series at a distance along a rail: a table of one station.
function atStation({ edges }, { values, shape }, x) {
  const [rows, panels, terms, columns] = shape;
  let panel = 0;
  while (panel < panels - 1 && x >= edges[panel + 1]) panel++;
  const [low, high] = [edges[panel], edges[panel + 1]];
  const t = (2 * x - low - high) / (high - low);
  const found = new Float64Array(rows * columns);
  let [last, now] = [0, 1];
  for (let k = 0; k < terms; k++) {
    for (let r = 0; r < rows; r++) {
      const from = ((r * panels + panel) * terms + k) * columns;
      for (let j = 0; j < columns; j++) found[r * columns + j] += now * values[from + j];
    }
    [last, now] = [now, ((2 * k + 1) * t * now - k * last) / (k + 1)];
  }
  return { values: found, shape: [rows, 1, columns] };
}

/** Places a node of a body of any shape in the world. */
export function placeNode({ points, pointsMoved }, node, a, scale, root, out) {
  for (let k = 0; k < 3; k++) {
    U[k] = points.values[3 * node + k] + sum(pointsMoved, 3 * node + k, a, scale);
  }
  add(root.p, root.R, U, out);
}

// Displacement U and angles ANGLE of a section, as they are.
function displace(shape, s, a, unitLength) {
  for (let k = 0; k < 3; k++) {
    U[k] = sum(shape.moved, 3 * s + k, a);
    ANGLE[k] = sum(shape.turned, 3 * s + k, a) / (k === 0 ? 1 : unitLength);
  }
  for (const { axis, table } of shape.quadratic) {
    U[axis] += quadratic(table.values, s, a, shape.count) / (2 * unitLength);
  }
}

function quadratic(table, s, a, m) {
  let sum = 0;
  for (let i = 0, k = s * m * m; i < m; i++) {
    let row = 0;
    for (let j = 0; j < m; j++) row += table[k++] * a[j];
    sum += row * a[i];
  }
  return sum;
}

// Curvature, moment and strain of a section.
function measure(arm, link, s, a, unitLength, out) {
  const { shape } = link;
  let y = sum(shape.bend, 2 * s, a) / unitLength ** 2;
  let z = sum(shape.bend, 2 * s + 1, a) / unitLength ** 2;
  if (arm.stiffening) {
    const slopeY = ANGLE[2];
    const slopeZ = -ANGLE[1];
    const half = (slopeY * y + slopeZ * z) / 2;
    y += slopeY * half;
    z += slopeZ * half;
  }
  colour(link, s, y, z, sum(shape.stretch, s, a) / unitLength, out);
}

// Writes down what colours a section, from its curvatures and stretch.
function colour({ shape, section, strain }, s, y, z, stretch, out) {
  out.curvature[s] = shape.rigidPieces ? NaN : Math.hypot(y, z);
  const { values: stiff } = shape.rigidity;
  out.moment[s] = shape.rigidPieces ? NaN : Math.hypot(stiff[2 * s] * y, stiff[2 * s + 1] * z);
  out.strain[s] = NaN;
  if (strain) {
    const bent =
      section.kind === "tube"
        ? (Math.hypot(y, z) * section.width) / 2
        : (Math.abs(y) * section.width + Math.abs(z) * section.height) / 2;
    out.strain[s] = bent + Math.abs(stretch);
  }
}

function turnSection(angle, factor, firstOrder) {
  const x = angle[0] * factor;
  const y = angle[1] * factor;
  const z = angle[2] * factor;
  if (firstOrder) {
    E.set([1, -z, y, z, 1, -x, -y, x, 1]);
    return;
  }
  const square = x * x + y * y + z * z;
  const f = 1 / (1 + square / 4);
  const h = f / 2;
  E[0] = 1 + h * (x * x - square);
  E[1] = -f * z + h * x * y;
  E[2] = f * y + h * x * z;
  E[3] = f * z + h * y * x;
  E[4] = 1 + h * (y * y - square);
  E[5] = -f * x + h * y * z;
  E[6] = -f * y + h * z * x;
  E[7] = f * x + h * z * y;
  E[8] = 1 + h * (z * z - square);
}

/** How far an arm reaches when it is straight [m]. */
export function reachOf(arm) {
  let reach = Math.hypot(...arm.end.p);
  for (const link of arm.links) {
    reach += Math.hypot(...link.before.p) + Math.hypot(...link.after.p) + link.length;
  }
  return reach || 1;
}
