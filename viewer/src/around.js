// What is around the arms: obstacles that they touch, bodies that they capture and let go.
import {
  BoxGeometry, BufferGeometry, CylinderGeometry, DoubleSide, EdgesGeometry, Float32BufferAttribute, Group,
  LineBasicMaterial, LineSegments, Mesh, MeshStandardMaterial, PlaneGeometry, Quaternion, SphereGeometry, Vector3,
} from "three";
import { sampleAt } from "./data.js";

const Z = new Vector3(0, 0, 1);
const STEEL = 7800; // [kg/m^3]: a body is drawn as a ball of steel, within reason
const LARGE = 3; // times what moves: an obstacle beyond that does not widen the view

/** Makes the obstacles, and the bodies of every motion. */
export function makeAround(data, reach) {
  const group = new Group();
  const wall = new MeshStandardMaterial({
    roughness: 0.9, transparent: true, opacity: 0.28, side: DoubleSide, depthWrite: false,
  });
  const edge = new LineBasicMaterial({ transparent: true, opacity: 0.7 });
  const ball = new MeshStandardMaterial({ roughness: 0.5 });
  const walls = new Group();
  group.add(walls);
  const bodies = data.motions.map((motion, run) =>
    (motion.bodies ?? []).map((body) => makeBody(body, motion.t.values, ball, run, reach)),
  );
  for (const each of bodies.flat()) group.add(each.ball, each.rod);
  const riding = data.motions.flatMap((motion) =>
    (motion.walls ?? []).map((solid) => ({ ...solid, times: motion.t.values, frame: new Group() })),
  );
  for (const solid of riding) {
    const centre = new Vector3(...solid.point);
    solid.frame.add(...makeWall({ wall, edge }, solid, { centre, radius: 0.3 * reach }));
    group.add(solid.frame);
  }
  return { group, walls, wall, edge, ball, bodies, riding, obstacles: data.obstacles ?? [] };
}

/** Draws the obstacles as large as the surroundings of what moves ask for. */
export function placeWalls(around, box) {
  for (const mesh of around.walls.children) mesh.geometry.dispose();
  around.walls.clear();
  for (const each of around.obstacles) around.walls.add(...makeWall(around, each, box));
}

function makeWall({ wall, edge }, obstacle, { centre, radius }) {
  const shape = {
    plane: () => new PlaneGeometry(1.6 * radius, 1.6 * radius),
    sphere: () => new SphereGeometry(obstacle.radius, 48, 32),
    box: () => new BoxGeometry(...obstacle.size),
  }[obstacle.kind]();
  const lines = obstacle.kind === "sphere" ? equators(obstacle.radius) : new EdgesGeometry(shape);
  const parts = [new Mesh(shape, wall), new LineSegments(lines, edge)];
  const at = new Vector3(...obstacle.point);
  const turn = new Quaternion();
  if (obstacle.kind === "plane") {
    const normal = new Vector3(...obstacle.normal).normalize();
    at.copy(centre).addScaledVector(normal, normal.dot(new Vector3(...obstacle.point)) - normal.dot(centre));
    turn.setFromUnitVectors(Z, normal);
  } else if (obstacle.R) {
    turn.setFromRotationMatrix(matrix(obstacle.R));
  }
  for (const part of parts) {
    part.position.copy(at);
    part.quaternion.copy(turn);
    part.renderOrder = -1;
  }
  return parts;
}

function equators(radius) {
  const points = [];
  for (let k = 0; k < 96; k++) {
    for (const i of [k, k + 1]) {
      const [c, s] = [radius * Math.cos((i * Math.PI) / 48), radius * Math.sin((i * Math.PI) / 48)];
      points.push(c, s, 0);
    }
  }
  const turned = (order) => points.map((_, i) => points[i - (i % 3) + order[i % 3]]);
  const all = [...points, ...turned([0, 2, 1]), ...turned([2, 0, 1])];
  return new BufferGeometry().setAttribute("position", new Float32BufferAttribute(all, 3));
}

const matrix = (R) => ({ elements: [R[0], R[3], R[6], 0, R[1], R[4], R[7], 0, R[2], R[5], R[8], 0, 0, 0, 0, 1] });

/** Lists points that obstacles, springs and bodies should be seen at, in the neighbourhood of what moves. */
export function aroundPoints(data, reach) {
  const found = [];
  for (const { kind, point, size, radius, R } of data.obstacles ?? []) {
    const half = kind === "box" ? size.map((x) => x / 2) : [radius, radius, radius];
    if (kind === "plane" || Math.max(...half) > LARGE * reach) continue;
    for (let k = 0; k < 8; k++) {
      const corner = new Vector3(...half.map((x, i) => (k & (1 << i) ? x : -x)));
      if (R) corner.applyMatrix4(matrix(R));
      found.push(corner.add(new Vector3(...point)));
    }
  }
  for (const { holders, offsets } of data.motions.flatMap((motion) => motion.coils ?? [])) {
    holders.forEach((holder, i) => {
      const { values, shape: [, samples] } = offsets[i];
      if (!holder) found.push(new Vector3(values[0], values[samples], values[2 * samples]));
    });
  }
  for (const { places } of data.motions.flatMap((motion) => motion.bodies ?? [])) {
    const [, samples] = places.shape;
    for (let k = 0; k < samples; k += Math.max(1, Math.floor(samples / 40))) {
      const at = new Vector3(...[3, 4, 5].map((c) => places.values[c * samples + k]));
      if (!places.values[6 * samples + k] && at.length() < 2 * reach) found.push(at);
    }
  }
  return found;
}

function makeBody(body, times, material, run, reach) {
  const radius = Math.cbrt((3 * body.mass) / (4 * Math.PI * STEEL));
  const size = Math.min(Math.max(radius, 0.025 * reach), 0.09 * reach);
  const ball = new Mesh(new SphereGeometry(size, 32, 20), material);
  const rod = new Mesh(new CylinderGeometry(0.25 * size, 0.25 * size, 1, 16).rotateX(Math.PI / 2), material);
  for (const each of [ball, rod]) each.castShadow = each.receiveShadow = true;
  return { ...body, times, run, ball, rod, size };
}

/** Moves bodies and obstacles to where they are at a time; bodies that are held go with the tip as it is drawn. */
export function placeBodies({ bodies, riding }, arms, t) {
  for (const { pose, times, frame } of riding) {
    const [, samples] = pose.shape;
    const i = sampleAt(times, t);
    const next = Math.min(i + 1, samples - 1);
    const part = times[next] > times[i] ? Math.min(Math.max((t - times[i]) / (times[next] - times[i]), 0), 1) : 0;
    const [from, to] = [i, next].map((k) => Array.from({ length: 12 }, (_, c) => pose.values[c * samples + k]));
    frame.position.set(...[0, 1, 2].map((k) => from[k] + part * (to[k] - from[k])));
    const [turn, end] = [from, to].map((row) => new Quaternion().setFromRotationMatrix(matrix(row.slice(3))));
    frame.quaternion.slerpQuaternions(turn, end, part);
  }
  for (const body of bodies.flat()) {
    const [from, to] = [0, 3].map((column) => placeAt(body, column, arms[body.run].pose.tip, t));
    body.ball.position.copy(to);
    const along = to.clone().sub(from);
    const length = along.length();
    body.rod.visible = length > 0.5 * body.size;
    if (!body.rod.visible) continue;
    body.rod.position.copy(from).addScaledVector(along, 0.5);
    body.rod.quaternion.setFromUnitVectors(Z, along.divideScalar(length));
    body.rod.scale.set(1, 1, length);
  }
}

function placeAt({ places, times }, column, tip, t) {
  const [, samples] = places.shape;
  const value = (c, k) => places.values[c * samples + k];
  const i = sampleAt(times, t);
  const next = Math.min(i + 1, samples - 1);
  const j = value(6, i) === value(6, next) ? next : i;
  const part = times[j] > times[i] ? Math.min(Math.max((t - times[i]) / (times[j] - times[i]), 0), 1) : 0;
  const found = new Vector3(
    ...[0, 1, 2].map((k) => value(column + k, i) + part * (value(column + k, j) - value(column + k, i))),
  );
  return value(6, i) ? found.applyMatrix4(matrix(tip.R)).add(new Vector3(...tip.p)) : found;
}

/** Gives them the colours of a theme. */
export function dressAround({ wall, edge, ball }, theme) {
  wall.color.set(theme.soft);
  edge.color.set(theme.soft);
  ball.color.set(theme.payload);
}
