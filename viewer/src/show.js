// The arms on the stage: what is drawn at a moment, and how.
import { dressArm, makeArm, updateArm } from "./arm.js";
import { enclose, tracePoints, upOf } from "./bounds.js";
import { FIELDS, gradient, say } from "./colours.js";
import { makeCompass, turnCompass } from "./compass.js";
import { byId } from "./dom.js";
import { addStand, placeStand } from "./stand.js";
import { reachOf } from "./kinematics.js";
import { dressStage, fitStage, makeStage, pixelAt } from "./stage.js";
import { readTheme } from "./theme.js";

const MARK = 4.5; // radius of the mark at a tip, in pixels

/** Makes the show of some arms; `samples` lists a few states of each, to see where it moves. */
export function openShow(data, samples) {
  try {
    return makeShow(data, samples);
  } catch (error) {
    byId("stage").hidden = true;
    byId("warning").hidden = false;
    byId("warning").textContent =
      `This browser cannot draw the arm, since it gives no WebGL: ${error.message} ` +
      "The curves are complete.";
    return blindShow(data);
  }
}

// Without WebGL: everything but the drawing.
function blindShow(data) {
  const stage = { controls: { addEventListener: () => {} }, grid: {}, shadow: {} };
  return {
    blind: true, stage, arms: [], trails: [], limits: data.limits,
    settings: { scale: 1, field: "plain", ghost: false, trail: false },
  };
}

function makeShow(data, samples) {
  const [first] = data.arms;
  const reach = Math.max(...data.arms.map(reachOf));
  const up = upOf(first);
  const points = data.arms.flatMap((arm, k) => tracePoints(arm, samples[k]));
  const stage = makeStage(byId("canvas"), enclose(points, up, reach), up);
  const arms = data.arms.map((arm, k) => makeArm(arm, reach, k ? "other" : "solid"));
  const ghost = makeArm(first, reach, "ghost");
  stage.scene.add(...arms.map((arm) => arm.group), ghost.group);
  addStand(stage, first, reach);
  const show = {
    stage, arms, ghost, trails: [], reach,
    compass: makeCompass(byId("compass"), first.gravity),
    settings: { scale: 1, field: "deflection", ghost: true, trail: true },
    limits: data.limits,
  };
  dressShow(show);
  return show;
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
  for (const arm of [...show.arms, show.ghost]) dressArm(arm, theme);
  for (const material of show.stage.stand.materials) material.color.set(theme.stand);
  show.trails.forEach((trail, k) => {
    for (const line of [trail.whole, trail.gone]) {
      line.material.color.set(k ? theme.other : theme.mark);
    }
  });
}

/** Poses the arms at given states; the ghost is the first as if rigid, or at a state of its own. */
export function poseShow(show, states, rest = null) {
  if (show.blind) return;
  const { settings, arms, ghost, trails } = show;
  const largest = show.limits[settings.field] ?? 0;
  arms.forEach((arm, k) => {
    updateArm(arm, states[k], settings.scale, k ? "plain" : settings.field, largest);
  });
  placeStand(show.stage, arms[0].pose.base);
  ghost.group.visible = settings.ghost;
  if (settings.ghost) updateArm(ghost, rest ?? states[0], rest ? 1 : 0, "plain", 0);
  for (const trail of trails) trail.group.visible = settings.trail;
}

/** Draws what is posed. */
export function drawShow(show) {
  if (show.blind) return;
  fitStage(show.stage);
  turnCompass(show.compass, show.stage.camera);
  for (const { mark } of show.arms) mark.scale.setScalar(MARK * pixelAt(show.stage, mark.position));
  show.stage.renderer.render(show.stage.scene, show.stage.camera);
}

/** Writes the legend of the colours. */
export function sayLegend(show, numbers = true) {
  const { field } = show.settings;
  byId("legend").hidden = field === "plain";
  byId("legend-title").textContent = FIELDS[field].title;
  byId("legend-high").textContent = numbers ? say(show.limits[field] ?? 0, FIELDS[field].unit) : "most";
  byId("legend-low").textContent = numbers ? "0" : "none";
  byId("legend").querySelector("i").style.background = gradient("to top");
}
