// Forces at points of the arms: arrows where they touch something, coils for springs between points.
import { Line2 } from "three/addons/lines/Line2.js";
import { LineGeometry } from "three/addons/lines/LineGeometry.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import {
  ConeGeometry, CylinderGeometry, Group, Mesh, MeshBasicMaterial, Quaternion, Vector3,
} from "three";
import { sampleAt } from "./data.js";

const Y = new Vector3(0, 1, 0);
const LONGEST = 0.3; // of the arm's reach: the arrow of the largest force
const SHAFT = 0.006; // of the reach
const FAINT = 0.01; // of the largest force: no arrow below
const TURNS = 9;
const COIL = 0.018; // of the reach: radius of a coil

/** Makes the arrows and coils of every motion. */
export function makeForces(motions, reach) {
  const group = new Group();
  const arrow = new MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.95 });
  const wire = new LineMaterial({ linewidth: 2 });
  const marks = motions.flatMap((motion, run) => {
    const times = motion.t.values;
    const touches = (motion.touches ?? []).map((each) => ({ ...each, run, times, ...makeArrow(arrow, reach) }));
    const coils = (motion.coils ?? []).map((each) => ({ ...each, run, times, coil: new Line2(helix(), wire) }));
    return [...touches, ...coils];
  });
  for (const { coil, whole } of marks) group.add(coil ?? whole);
  for (const { coil } of marks) if (coil) coil.frustumCulled = false;
  const sizes = marks.flatMap(({ force, times }) => (force ? Array.from(times, (_, k) => at(force, k).length()) : []));
  return { group, marks, arrow, wire, reach, most: sizes.reduce((a, b) => Math.max(a, b), 0) };
}

// An arrow along y of length 1; its head keeps its size.
function makeArrow(material, reach) {
  const shaft = new Mesh(new CylinderGeometry(SHAFT * reach, SHAFT * reach, 1, 12).translate(0, 0.5, 0), material);
  const head = new Mesh(new ConeGeometry(3 * SHAFT * reach, 9 * SHAFT * reach, 20), material);
  const whole = new Group();
  whole.add(shaft, head);
  for (const each of [shaft, head]) each.renderOrder = 3;
  return { whole, shaft, head };
}

// A coil along y of length and radius 1, with straight ends.
function helix() {
  const points = [0, 0, 0];
  const count = 24 * TURNS;
  for (let k = 0; k <= count; k++) {
    const angle = (2 * Math.PI * TURNS * k) / count;
    points.push(Math.cos(angle), 0.12 + (0.76 * k) / count, Math.sin(angle));
  }
  const geometry = new LineGeometry();
  geometry.setPositions([...points, 0, 1, 0]);
  return geometry;
}

const at = ({ values, shape: [, samples] }, k) =>
  new Vector3(values[k], values[samples + k], values[2 * samples + k]);

// The point of an arm, as it is drawn, that carries something; the world's origin without one.
function carrier(holder, { pose }) {
  if (!holder) return new Vector3();
  if (holder.link === null) return new Vector3(...pose.tip.p);
  const { centres } = pose.links[holder.link];
  const x = holder.along * (centres.length / 3 - 1);
  const i = 3 * Math.min(Math.floor(x), centres.length / 3 - 2);
  const part = x - i / 3;
  return new Vector3(...[0, 1, 2].map((k) => (1 - part) * centres[i + k] + part * centres[i + 3 + k]));
}

/** Moves arrows and coils to a time, on the arms as they are drawn. */
export function placeForces({ marks, most, reach }, arms, t) {
  for (const mark of marks) {
    const k = sampleAt(mark.times, t);
    const arm = arms[mark.run];
    if (mark.coil) {
      const [from, to] = [0, 1].map((i) => carrier(mark.holders[i], arm).add(at(mark.offsets[i], k)));
      stretch(mark.coil, from, to.sub(from), COIL * reach);
      continue;
    }
    const force = at(mark.force, k);
    const size = force.length();
    mark.whole.visible = size > FAINT * most;
    if (!mark.whole.visible) continue;
    const length = (LONGEST * reach * size) / most;
    mark.whole.position.copy(carrier(mark.holder, arm).add(at(mark.offset, k)));
    mark.whole.quaternion.setFromUnitVectors(Y, force.divideScalar(size));
    mark.shaft.scale.set(1, length, 1);
    mark.head.position.set(0, length, 0);
  }
}

function stretch(coil, from, along, radius) {
  const length = Math.max(along.length(), 1e-9);
  coil.position.copy(from);
  coil.quaternion.copy(new Quaternion().setFromUnitVectors(Y, along.divideScalar(length)));
  coil.scale.set(radius, length, radius);
}

/** Gives them the colours of a theme. */
export function dressForces({ arrow, wire }, theme) {
  arrow.color.set(theme.ink);
  wire.color.set(theme.soft);
}
