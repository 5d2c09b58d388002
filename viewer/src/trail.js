// The path of an arm's tip: faint as a whole, bright as far as it has been gone.
import { Line2 } from "three/addons/lines/Line2.js";
import { LineGeometry } from "three/addons/lines/LineGeometry.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import { Group } from "three";
import { makePose, poseArm } from "./kinematics.js";

/** Makes the trail of a motion. */
export function makeTrail(arm, samples) {
  const line = (width, opacity) => {
    const material = new LineMaterial({ linewidth: width, transparent: true, opacity, depthWrite: false });
    const made = new Line2(new LineGeometry(), material);
    made.frustumCulled = false;
    return made;
  };
  const [whole, gone] = [line(1.5, 0.28), line(2.5, 0.9)];
  const group = new Group();
  gone.renderOrder = 1;
  group.add(whole, gone);
  return { arm, samples, group, whole, gone, pose: makePose(arm) };
}

/** Finds the path anew, for arms drawn at another scale; `stateOf` gives the state of a sample. */
export function retrace(trail, stateOf, scale) {
  const points = new Float32Array(3 * trail.samples);
  for (let i = 0; i < trail.samples; i++) {
    poseArm(trail.arm, stateOf(i), scale, trail.pose, { ends: true });
    points.set(trail.pose.tip.p, 3 * i);
  }
  if (trail.samples < 2) return;
  for (const line of [trail.whole, trail.gone]) {
    line.geometry.dispose();
    line.geometry = new LineGeometry();
    line.geometry.setPositions(points);
  }
}

/** Shows the trail as far as a sample. */
export function goTo(trail, sample) {
  trail.gone.visible = sample > 0;
  trail.gone.geometry.instanceCount = sample;
}

const TAIL = 1500; // pieces of the path behind a tip whose future nobody knows
const APART = 1e-3; // of the reach: what is nearer is the same place

/** Makes the path behind a tip, as far as it is remembered. */
export function makeTail(reach) {
  const material = new LineMaterial({ linewidth: 2.5, transparent: true, opacity: 0.75, depthWrite: false });
  const line = new Line2(new LineGeometry(), material);
  line.geometry.setPositions(new Float32Array(3 * (TAIL + 1)));
  line.frustumCulled = false;
  const group = new Group();
  group.add(line);
  const tail = { group, whole: line, gone: line, count: 0, last: null, apart: APART * reach };
  forgetTip(tail);
  return tail;
}

/** Adds a place of the tip to the path, in the place of the oldest piece. */
export function followTip(tail, tip) {
  const from = tail.last ?? tip;
  if (tail.last && Math.hypot(tip[0] - from[0], tip[1] - from[1], tip[2] - from[2]) < tail.apart) return;
  const { geometry } = tail.gone;
  const { data } = geometry.attributes.instanceStart;
  data.array.set([...from, ...tip], 6 * (tail.count % TAIL));
  data.needsUpdate = true;
  tail.count += 1;
  geometry.instanceCount = Math.min(tail.count, TAIL);
  tail.last = Array.from(tip);
}

/** Forgets the path. */
export function forgetTip(tail) {
  tail.count = 0;
  tail.last = null;
  tail.gone.geometry.instanceCount = 0;
}
