// The nodes of a body of any shape as dots, with lines between some of them.
import {
  BufferAttribute, BufferGeometry, LineBasicMaterial, LineSegments, Points, PointsMaterial,
} from "three";
import { placeNode } from "./kinematics.js";

const DOT = 0.004; // of the arm's reach

/** Makes the dots and lines of a body; both share the places of its nodes. */
export function makeNodes({ points, lines }, reach, opacity) {
  const look = { transparent: opacity < 1, opacity };
  const places = new BufferAttribute(new Float32Array(3 * points.shape[0]), 3);
  const dots = new Points(new BufferGeometry(), new PointsMaterial({ size: DOT * reach, ...look }));
  dots.geometry.setAttribute("position", places);
  const net = new LineSegments(new BufferGeometry(), new LineBasicMaterial(look));
  net.geometry.setAttribute("position", places);
  net.geometry.setIndex(lines.flat());
  for (const each of [dots, net]) each.frustumCulled = false; // its bounds are not kept
  return { places, dots, net };
}

/** Moves them to where a state has them. */
export function updateNodes({ places, dots, net }, { shape }, state, scale, root, colour) {
  const a = state.subarray(shape.column, shape.column + shape.count);
  for (let k = 0; k < places.count; k++) {
    placeNode(shape, k, a, scale, root, places.array.subarray(3 * k, 3 * k + 3));
  }
  places.needsUpdate = true;
  for (const each of [dots, net]) each.material.color.copy(colour);
}
