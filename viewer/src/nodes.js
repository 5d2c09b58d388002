// A body of any shape: its surface, or its nodes as dots with lines between them or within a hull.
import {
  BackSide, BufferAttribute, BufferGeometry, DoubleSide, LineBasicMaterial, LineSegments, Mesh,
  MeshStandardMaterial, Points, PointsMaterial,
} from "three";
import { placeNode } from "./kinematics.js";

const DOT = 0.004; // of the arm's reach
const HULL = 0.25; // how opaque a hull is

/** Makes a surface that stands for a rigid part; of a link that bends it is only hinted at. */
export function makeSkin({ points, faces }, bends, opacity) {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(points.values, 3));
  geometry.setIndex(Array.from(faces.values));
  geometry.computeBoundingSphere();
  const seen = bends ? HULL * opacity : opacity;
  return new Mesh(geometry, new MeshStandardMaterial({
    transparent: seen < 1, opacity: seen, depthWrite: seen === 1, flatShading: true,
    side: DoubleSide, shadowSide: BackSide, roughness: 0.6,
  }));
}

/** Makes the dots, lines and faces of a body; all share the places of its nodes. */
export function makeNodes({ points, lines, faces }, reach, opacity) {
  const look = { transparent: opacity < 1, opacity };
  const places = new BufferAttribute(new Float32Array(3 * points.shape[0]), 3);
  const dots = new Points(new BufferGeometry(), new PointsMaterial({ size: DOT * reach, ...look }));
  dots.geometry.setAttribute("position", places);
  const net = new LineSegments(new BufferGeometry(), new LineBasicMaterial(look));
  net.geometry.setAttribute("position", places);
  net.geometry.setIndex(lines.flat());
  const corners = faces.flat();
  const whole = new Set(corners).size === places.count; // a surface, not a hull around nodes
  const seen = whole ? opacity : HULL * opacity;
  const skin = new Mesh(new BufferGeometry(), new MeshStandardMaterial({
    transparent: seen < 1, opacity: seen, depthWrite: whole, flatShading: true, side: DoubleSide,
    roughness: 0.7,
  }));
  skin.geometry.setAttribute("position", places);
  skin.geometry.setIndex(corners);
  skin.visible = corners.length > 0;
  dots.visible = !whole;
  for (const each of [dots, net, skin]) each.frustumCulled = false; // its bounds are not kept
  return { places, parts: [dots, net, skin] };
}

/** Moves them to where a state has them. */
export function updateNodes({ places, parts }, { shape }, state, scale, root, colour) {
  const a = state.subarray(shape.column, shape.column + shape.count);
  for (let k = 0; k < places.count; k++) {
    placeNode(shape, k, a, scale, root, places.array.subarray(3 * k, 3 * k + 3));
  }
  places.needsUpdate = true;
  for (const each of parts) each.material.color.copy(colour);
}
