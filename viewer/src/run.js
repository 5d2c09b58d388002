// The page of a run, or of several compared.
import { dressCharts, makeCharts, moveCursor, renewCharts } from "./charts.js";
import { connect, offerFields, offerScales, sayTime } from "./controls.js";
import { sampleAt, stateAt } from "./data.js";
import { byId, make, named } from "./dom.js";
import { markEvents, showEvents } from "./events.js";
import { sayHeading } from "./heading.js";
import { makePlayer, play, prolong, seek } from "./player.js";
import { addTrails, drawShow, openShow, poseShow, widenShow } from "./show.js";
import { readTheme } from "./theme.js";
import { goTo, makeTrail, retrace } from "./trail.js";

const STOPS = [0, 0.5, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000];
const RUNS = 8; // colours of runs
const STEEPEST = 0.9; // slope that a deformed link may be drawn with
const ROUND = Math.PI; // [rad]: a link is not drawn bent further than that, unless it is
const SEEN = 120; // samples that are looked at to find where an arm moves
const VALUES_EVERY = 80; // [ms]: faster than that nobody reads numbers

/** Starts the page of one run or more. */
export function startRun(data) {
  const { motions } = data;
  const show = openShow(data, motions.map(someStates));
  addTrails(show, motions.map((motion, k) => makeTrail(data.arms[k], motion.t.values.length)));
  const page = { data, motions, show, states: motions.map(blank), said: -Infinity, events: null, suggested: data.view.scale };
  const player = makePlayer(motions[0].t.values[0], lastOf(motions), (t) => picture(page, t));
  player.growing = growing(data);
  page.player = player;
  const point = (t) => seek(player, t);
  page.charts = makeCharts(byId("charts"), byId("choose"), motions, readTheme(), point);
  const compared = motions.length > 1;
  byId("ghost").checked = !compared; // two arms are enough
  page.controls = connect(show, player, {
    field: compared ? "plain" : "deflection",
    scales: { stops: stops(data.limits.slope), start: data.view.scale, write: (scale) => `×${scale}` },
    numbers: true,
    enlarges: true,
    step: (by) => step(page, by),
    rescaled: () => rescale(page),
    dressed: (theme) => dressCharts(page.charts, theme),
  });
  page.events = showEvents(motions, player, point);
  page.charts.events = page.events.rows.map(({ t }) => t);
  if (compared) listRuns(motions);
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) play(player, true);
  player.begin();
  return page;
}

/** Goes on with a run of the same arms that has grown: view, speed and choices stay. */
export function renewRun(page, data) {
  const { show, player, controls, charts } = page;
  Object.assign(page, { data, motions: data.motions });
  sayHeading(data);
  show.limits = data.limits;
  data.motions.forEach((motion, k) => {
    if (show.trails[k]) show.trails[k].samples = motion.t.values.length;
  });
  widenShow(show, data, data.motions.map(someStates));
  renewCharts(charts, data.motions);
  // A scale that nobody has changed goes on showing what there is.
  if (controls.scale === page.suggested) controls.scale = data.view.scale;
  page.suggested = data.view.scale;
  offerScales(controls, stops(data.limits.slope));
  offerFields(controls);
  prolong(player, lastOf(data.motions), growing(data));
  page.events = showEvents(data.motions, player, (t) => seek(player, t));
  charts.events = page.events.rows.map(({ t }) => t);
}

const blank = (motion) => new Float64Array(motion.state.shape[0]);
const lastOf = (motions) => Math.max(...motions.map(({ t }) => t.values[t.values.length - 1]));
const growing = (data) => Boolean(data.live && data.running);

function someStates(motion) {
  const times = Array.from(motion.t.values);
  const every = Math.max(1, Math.floor(times.length / SEEN));
  return times.filter((_, i) => i % every === 0).map((t) => stateAt(motion, t, blank(motion)));
}

// Poses and draws at a time; returns what the page's own code took, and drawing [ms].
function picture(page, t) {
  const { motions, show, states, player } = page;
  const begun = performance.now();
  motions.forEach((motion, k) => stateAt(motion, t, states[k]));
  poseShow(show, states, null, t);
  show.trails.forEach((trail, k) => goTo(trail, sampleAt(motions[k].t.values, t)));
  if (!player.playing || begun - page.said > VALUES_EVERY) {
    page.said = begun;
    moveCursor(page.charts, t);
    sayTime(player, `${t.toFixed(3)} s`);
    if (page.events) markEvents(page.events, t);
  } else {
    moveCursor(page.charts, t, false);
  }
  const posed = performance.now();
  drawShow(show);
  return [posed - begun, performance.now() - posed];
}

function stops(slope) {
  if (!(slope > 0)) return [1];
  const most = STOPS.find((stop) => stop >= 5 && stop * slope >= STEEPEST) ?? STOPS[STOPS.length - 1];
  return STOPS.filter((stop) => stop <= 1 || (stop <= most && stop * slope <= ROUND));
}

function step({ player, motions }, by) {
  const times = motions[0].t.values;
  play(player, false);
  const at = Math.min(Math.max(sampleAt(times, player.time) + by, 0), times.length - 1);
  seek(player, times[at]);
}

// What is drawn at another scale takes another room.
function rescale({ data, motions, show }) {
  widenShow(show, data, motions.map(someStates));
  show.trails.forEach((trail, k) => {
    const motion = motions[k];
    const state = new Float64Array(motion.state.shape[0]);
    const [columns, samples] = motion.state.shape;
    const stateOf = (i) => {
      for (let c = 0; c < columns; c++) state[c] = motion.state.values[c * samples + i];
      return state;
    };
    retrace(trail, stateOf, show.settings.scale);
  });
}

function listRuns(motions) {
  const list = byId("runs");
  list.hidden = false;
  motions.forEach((motion, k) => {
    list.append(make("li", {}, make("i", { class: `run${k % RUNS}` }), named(motion.label)));
  });
}
