// The arms on the stage: what is drawn at a moment, and how.
import { dressArm, makeArm, updateArm, weighPayload } from "./arm.js";
import { aroundPoints, dressAround, makeAround, placeBodies, placeWalls } from "./around.js";
import { enclose, heldAt, tracePoints, upOf } from "./bounds.js";
import { FIELDS, gradient, say } from "./colours.js";
import { dressForces, makeForces, placeForces } from "./forces.js";
import { makeCompass, turnCompass } from "./compass.js";
import { byId } from "./dom.js";
import { sayWarning } from "./heading.js";
import { drawBar, makeNames, placeNames } from "./marks.js";
import { drawnSizes } from "./sections.js";
import { addStand, placeStand } from "./stand.js";
import { reachOf } from "./kinematics.js";
import { dressStage, fitStage, makeStage, pixelAt, project, resetView, surround } from "./stage.js";
import { readTheme } from "./theme.js";

const MARK = 4.5; // radius of the mark at a tip, in pixels
const GROWN = 0.02; // of the radius: what changes the surroundings of a motion that grows
const EDGE = 0.03; // of the picture's sides: what is nearer to them leaves it
const LET_GO = 3; // reaches, as the radius of a picture: an arm that leaves it drifts off

/** Makes the show of some arms; `samples` lists a few states of each, to see where it moves. */
export function openShow(data, samples) {
  try {
    return makeShow(data, samples);
  } catch (error) {
    byId("stage").hidden = true;
    sayWarning(
      `This browser cannot draw the arm, since it gives no WebGL: ${error.message} ` +
        "The curves are complete.",
    );
    return blindShow(data);
  }
}

// Without WebGL: everything but the drawing.
function blindShow(data) {
  const stage = { controls: { addEventListener: () => {} }, grid: {}, shadow: {} };
  return {
    blind: true, stage, arms: [], trails: [], limits: data.limits,
    settings: { scale: 1, field: "plain", ghost: false, trail: false, names: false },
  };
}

function makeShow(data, samples) {
  const [first] = data.arms;
  const reach = Math.max(...data.arms.map(reachOf));
  const up = upOf(first);
  const scale = data.view?.scale ?? 1;
  const stage = makeStage(byId("canvas"), boxOf(data, samples, up, reach, scale), up);
  const arms = data.arms.map((arm, k) => makeArm(arm, reach, k ? "other" : "solid", k));
  const ghost = makeArm(first, reach, "ghost", 0, data.kind !== "modes"); // there it is the arm at rest
  stage.scene.add(...arms.map((arm) => arm.group), ghost.group);
  addStand(stage, first, reach);
  const show = {
    stage, arms, ghost, trails: [], reach,
    compass: makeCompass(byId("compass"), first.gravity),
    settings: { scale, field: "deflection", ghost: true, trail: true, names: false },
    limits: data.limits,
  };
  if (data.motions) {
    show.around = makeAround(data, reach);
    placeWalls(show.around, stage.box);
    show.forces = makeForces(data.motions, reach);
    stage.scene.add(show.around.group, show.forces.group);
    show.around.bodies.forEach((bodies, k) => {
      if (bodies.some(({ name }) => name === "payload")) weighPayload(arms[k], 0);
    });
  }
  makeNames(show);
  dressShow(show);
  return show;
}

function boxOf(data, samples, up, reach, scale) {
  const points = data.arms.flatMap((arm, k) => tracePoints(arm, samples[k], scale));
  if (data.motions) points.push(...aroundPoints(data, reach));
  const sizes = data.arms.flatMap((arm) => drawnSizes(arm, reach));
  const thick = Math.max(...sizes.flatMap(({ width, height }) => [width, height]));
  return enclose(points, up, reach, thick, data.view?.towards);
}

/**
 * Whether a joint of an arm, as it is posed, its tip or what it holds is outside of a view that nobody has turned, or
 * below its ground.
 */
export function leavesView({ blind, stage, arms, reach }) {
  if (blind || stage.touched || stage.box.radius > LET_GO * reach) return false;
  fitStage(stage);
  stage.camera.updateMatrixWorld();
  const { up, box: { floor } } = stage;
  const inside = (x, width) => x > EDGE * width && x < (1 - EDGE) * width;
  const outside = (p) => {
    const [x, y] = project(stage, p);
    return !inside(x, stage.width) || !inside(y, stage.height) || up.dot(floor) > up.x * p[0] + up.y * p[1] + up.z * p[2];
  };
  return arms.some(({ arm, pose }) =>
    [pose.tip.p, heldAt(arm, pose), ...pose.links.map(({ joint }) => joint.p)].some(outside),
  );
}

/** Makes room for a motion that has grown, or `left` its picture; a view that nobody has turned looks at all of it. */
export function widenShow(show, data, samples, left = false) {
  if (show.blind) return;
  const { stage, arms, reach } = show;
  const box = boxOf(data, samples, stage.up, reach, show.settings.scale);
  const moved = ["centre", "floor"].map((name) => box[name].distanceTo(stage.box[name]));
  const grown = Math.max(...moved, Math.abs(box.radius - stage.box.radius)) > GROWN * stage.box.radius;
  if (!grown && !left) return;
  surround(stage, box);
  if (show.around) placeWalls(show.around, box);
  addStand(stage, arms[0].arm, reach);
  dressShow(show);
  if (!stage.touched) resetView(stage);
}

/** Adds the trails of the arms' tips. */
export function addTrails(show, trails) {
  if (show.blind) return;
  show.trails = trails;
  show.stage.scene.add(...trails.map((trail) => trail.group));
  dressShow(show);
}

/** Gives everything on the stage the colours of the page's theme. */
export function dressShow(show) {
  const theme = readTheme();
  show.theme = theme;
  if (show.blind) return;
  dressStage(show.stage, theme);
  const compared = show.arms.length > 1;
  for (const arm of [...show.arms, show.ghost]) dressArm(arm, theme, compared);
  if (show.around) dressAround(show.around, theme);
  if (show.forces) dressForces(show.forces, theme);
  for (const material of show.stage.stand.materials) material.color.set(theme.stand);
  show.trails.forEach((trail, k) => {
    for (const line of [trail.whole, trail.gone]) {
      line.material.color.set(compared ? show.arms[k].materials.plain : theme.mark);
    }
  });
}

/** Poses the arms at given states; the ghost is the first as if rigid, or at a state of its own. */
export function poseShow(show, states, rest = null, t = 0) {
  if (show.blind) return;
  const { settings, arms, ghost, trails } = show;
  const largest = show.limits[settings.field] ?? 0;
  arms.forEach((arm, k) => {
    updateArm(arm, states[k], settings.scale, settings.field, largest);
  });
  placeStand(show.stage, arms[0].pose.base);
  if (show.around) placeBodies(show.around, arms, t);
  if (show.forces) placeForces(show.forces, arms, t);
  ghost.group.visible = settings.ghost;
  if (settings.ghost) updateArm(ghost, rest ?? states[0], rest ? 1 : 0, "plain");
  for (const trail of trails) trail.group.visible = settings.trail;
}

/** Draws what is posed. */
export function drawShow(show) {
  if (show.blind) return;
  fitStage(show.stage);
  turnCompass(show.compass, show.stage.camera);
  for (const { mark } of show.arms) mark.scale.setScalar(MARK * pixelAt(show.stage, mark.position));
  show.stage.renderer.render(show.stage.scene, show.stage.camera);
  drawBar(show);
  placeNames(show);
  show.filmed?.();
}

/** Writes the legend of the colours. */
export function sayLegend(show, numbers = true) {
  const { field } = show.settings;
  byId("legend").hidden = field === "plain";
  byId("legend-title").textContent = FIELDS[field].title;
  byId("legend-high").textContent = numbers ? say(show.limits[field] ?? 0, FIELDS[field].unit) : "most";
  byId("legend-low").textContent = numbers ? "0" : "none";
  byId("legend").querySelector("i").style.background = gradient("var(--way)");
}
