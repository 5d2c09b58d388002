// Pulling the arm: a pointer, mouse or finger, takes hold of a link and draws it along.
import { BufferAttribute, BufferGeometry, Line, LineBasicMaterial, Mesh, MeshBasicMaterial, Plane, Raycaster, SphereGeometry, Vector2, Vector3 } from "three";
import { pixelAt, project } from "./stage.js";

const NEAR = { mouse: 26, pen: 30, touch: 44 }; // [px] from a link at which it is taken hold of
const FARTHEST = 0.7; // of the reach: a pull is no longer
const BALL = 6; // [px]

/**
 * Lets pointers pull. `weigh` turns a link and a part of its length into weights of the points that
 * can be held; `hold` is told what is held, or null.
 */
export function connectPull(show, { holds, hold }) {
  const { stage } = show;
  const { canvas } = stage;
  const rope = makeRope(stage, show);
  const pull = { rope, held: null, reach: show.reach };
  const place = canvas.parentElement;
  // Before the view's own controls see it: what holds a link does not turn the view.
  place.addEventListener("pointerdown", (event) => {
    if (event.target !== canvas || event.button > 0 || pull.held) return;
    const found = nearest(show, event);
    if (!found) return;
    event.stopPropagation();
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    const facing = stage.camera.getWorldDirection(new Vector3());
    pull.held = {
      pointer: event.pointerId,
      weights: weigh(holds, found.link, found.along),
      drawn: found,
      from: found.point,
      plane: new Plane().setFromNormalAndCoplanarPoint(facing, found.point),
      by: new Vector3(),
    };
    hold(pull.held);
  }, true);
  canvas.addEventListener("pointermove", (event) => {
    if (!pull.held) {
      if (event.pointerType === "mouse" && !event.buttons) {
        canvas.classList.toggle("holds", Boolean(nearest(show, event)));
      }
      return;
    }
    if (event.pointerId !== pull.held.pointer) return;
    const at = onPlane(stage, event, pull.held.plane);
    if (!at) return;
    pull.held.by.copy(at).sub(pull.held.from);
    pull.held.by.clampLength(0, FARTHEST * pull.reach);
    hold(pull.held);
  });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
    canvas.addEventListener(name, (event) => {
      if (pull.held?.pointer !== event.pointerId) return;
      pull.held = null;
      hold(null);
    });
  }
  return pull;
}

// Weights of the points that can be held for a part of a link's length: those beside it share.
export function weigh(holds, link, along) {
  const weights = new Float64Array(holds.length);
  const own = holds.map(([of, at], k) => ({ of, at, k })).filter(({ of }) => of === link);
  const after = own.findIndex(({ at }) => at >= along);
  const [a, b] = [own[Math.max(after - 1, 0)], own[after < 0 ? own.length - 1 : after]];
  const part = b.at > a.at ? (along - a.at) / (b.at - a.at) : 1;
  weights[a.k] += 1 - part;
  weights[b.k] += part;
  return weights;
}

// Finds the drawn section next to a pointer; the arm's tip counts as a link of its own, the last.
function nearest(show, event) {
  const { stage, arms } = show;
  const { left, top } = stage.canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - left, event.clientY - top];
  const { pose } = arms[0];
  let best = { away: NEAR[event.pointerType] ?? NEAR.mouse };
  const look = (point, link, along, bonus = 0) => {
    const [px, py] = project(stage, point);
    const away = Math.hypot(px - x, py - y) - bonus;
    if (away < best.away) best = { away, link, along, point: new Vector3(...point) };
  };
  pose.links.forEach(({ centres }, link) => {
    const count = centres.length / 3;
    const parts = count > 2 ? 1 : 16; // between the ends of a rigid link
    for (let s = 0; s + 1 < count; s++) {
      for (let i = s ? 1 : 0; i <= parts; i++) {
        const point = [0, 1, 2].map((k) => centres[3 * s + k] + (i / parts) * (centres[3 * s + 3 + k] - centres[3 * s + k]));
        look(point, link, (s + i / parts) / (count - 1));
      }
    }
  });
  look(Array.from(pose.tip.p), pose.links.length, 0, 4);
  return best.point ? best : null;
}

const RAY = new Raycaster();

function onPlane({ canvas, camera }, event, plane) {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const x = (2 * (event.clientX - left)) / width - 1;
  const y = 1 - (2 * (event.clientY - top)) / height;
  RAY.setFromCamera(new Vector2(x, y), camera);
  return RAY.ray.intersectPlane(plane, new Vector3());
}

function makeRope(stage, show) {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(6), 3));
  const line = new Line(geometry, new LineBasicMaterial({ depthTest: false, transparent: true }));
  const ball = new Mesh(new SphereGeometry(1, 20, 14), new MeshBasicMaterial({ depthTest: false, transparent: true }));
  line.frustumCulled = false;
  for (const each of [line, ball]) {
    each.renderOrder = 12;
    each.visible = false;
    stage.scene.add(each);
  }
  return { line, ball, stage, show };
}

/** Draws what pulls: a line from the held section to the pointer, and a ball there. */
export function drawPull({ rope, held }) {
  const { line, ball, stage, show } = rope;
  line.visible = ball.visible = Boolean(held);
  if (!held) return;
  const { pose } = show.arms[0];
  const { link, along } = held.drawn;
  const from = link < pose.links.length ? sectionAt(pose.links[link].centres, along) : Array.from(pose.tip.p);
  const to = held.from.clone().add(held.by);
  line.geometry.attributes.position.array.set([...from, to.x, to.y, to.z]);
  line.geometry.attributes.position.needsUpdate = true;
  ball.position.copy(to);
  ball.scale.setScalar(BALL * pixelAt(stage, to));
  for (const each of [line, ball]) each.material.color.set(show.theme.mark);
}

function sectionAt(centres, along) {
  const x = along * (centres.length / 3 - 1);
  const s = Math.min(Math.floor(x), centres.length / 3 - 2);
  return [0, 1, 2].map((k) => centres[3 * s + k] + (x - s) * (centres[3 * s + 3 + k] - centres[3 * s + k]));
}
