// Finds where an arm moves, which way is up, and from where it is best seen.
import { Vector3 } from "three";
import { makePose, poseArm } from "./kinematics.js";

const EVERY = 6; // section that is looked at

/** Lists the arm's joints, sections and tip at some of its states, drawn at a scale, as points. */
export function tracePoints(arm, states, scale) {
  const pose = makePose(arm);
  const points = [];
  for (const state of states) {
    poseArm(arm, state, scale, pose);
    points.push(new Vector3(...pose.base.p), new Vector3(...pose.tip.p), new Vector3(...heldAt(arm, pose)));
    pose.links.forEach((link, i) => {
      const inside = arm.links[i].length - link.exposed;
      points.push(new Vector3(...link.joint.p), new Vector3(...link.tip.p));
      // What of a sliding beam has not come out sticks out behind.
      if (inside > 0) points.push(new Vector3(...link.root.p.map((x, k) => x - inside * link.root.R[3 * k])));
      for (let k = 3 * EVERY; k < link.centres.length - 3; k += 3 * EVERY) {
        points.push(new Vector3(...link.centres.subarray(k, k + 3)));
      }
    });
  }
  return points;
}

/** Where the mass centre of what an arm holds is in a pose; its tip, if it holds nothing. */
export function heldAt(arm, { tip: { R, p } }) {
  const com = arm.payload?.com ?? [0, 0, 0];
  return p.map((x, k) => x + R[3 * k] * com[0] + R[3 * k + 1] * com[1] + R[3 * k + 2] * com[2]);
}

/** Says which way is up: against gravity, or along z where there is none. */
export function upOf(arm) {
  const gravity = new Vector3(...arm.gravity);
  return gravity.lengthSq() > 0 ? gravity.negate().normalize() : new Vector3(0, 0, 1);
}

/** Encloses points: centre, radius, the floor below them, and where to look from unless told. */
export function enclose(points, up, reach, thick, towards) {
  const [first, second] = horizontals(up);
  const low = new Vector3(Infinity, Infinity, Infinity);
  const high = low.clone().negate();
  for (const p of points) {
    const q = new Vector3(p.dot(first), p.dot(second), p.dot(up));
    low.min(q);
    high.max(q);
  }
  const margin = 0.05 * reach;
  low.z -= margin;
  const back = (x, y, z) =>
    new Vector3().addScaledVector(first, x).addScaledVector(second, y).addScaledVector(up, z);
  const middle = low.clone().add(high).multiplyScalar(0.5);
  const radius = Math.max(low.distanceTo(high) / 2, 0.3 * reach);
  const [view, side] = facing(points, first, second);
  const foot = points[0].clone().addScaledVector(up, low.z - points[0].dot(up));
  return {
    points: [...points, foot],
    thick,
    centre: back(middle.x, middle.y, middle.z),
    floor: back(middle.x, middle.y, low.z),
    top: high.z,
    radius,
    view,
    side,
    towards: towards
      ? new Vector3(...towards)
      : view.clone().addScaledVector(side, 0.42).addScaledVector(up, 0.36).normalize(),
  };
}

function horizontals(up) {
  const axes = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];
  axes.sort((a, b) => Math.abs(a.dot(up)) - Math.abs(b.dot(up)));
  const first = axes[0].addScaledVector(up, -axes[0].dot(up)).normalize();
  return [first, new Vector3().crossVectors(up, first)];
}

// Looks across the horizontal direction in which the points spread most.
function facing(points, first, second) {
  let [xx, xy, yy, mx, my] = [0, 0, 0, 0, 0];
  for (const p of points) {
    mx += p.dot(first) / points.length;
    my += p.dot(second) / points.length;
  }
  for (const p of points) {
    const x = p.dot(first) - mx;
    const y = p.dot(second) - my;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const angle = Math.atan2(2 * xy, xx - yy) / 2;
  const side = first.clone().multiplyScalar(Math.cos(angle)).addScaledVector(second, Math.sin(angle));
  const view = first.clone().multiplyScalar(Math.sin(angle)).addScaledVector(second, -Math.cos(angle));
  return [view, side];
}
