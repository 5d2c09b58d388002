// The page of an arm that runs: equations and integrator are in it, and the arm can be pulled.
import { weighPayload } from "./arm.js";
import { dressCharts, makeCharts, renewCharts, sayNow } from "./charts.js";
import { digits } from "./colours.js";
import { connect, sayTime } from "./controls.js";
import { byId, make, named } from "./dom.js";
import { sayWarning } from "./heading.js";
import { keepValues, kept, makeHistory } from "./history.js";
import { jointKnobs, settingKnobs } from "./knobs.js";
import { makePose, poseArm } from "./kinematics.js";
import { makePlayer, play, seenRate } from "./player.js";
import { connectPull, drawPull, weigh } from "./pull.js";
import { addTrails, drawShow, leavesView, openShow, poseShow, sayLegend, widenShow } from "./show.js";
import { advance, array, holdPoint, makeSimulation, observe, restart, setInput, stateOf, stepsOf, timeOf } from "./simulation.js";
import { readTheme } from "./theme.js";
import { heard, playTone } from "./tone.js";
import { followTip, forgetTip, makeTail } from "./trail.js";

const SCALES = [0, 0.5, 1, 2, 3, 5, 10, 20, 50];
const PATIENCE = [11, 60]; // [ms] of a picture that the equations may take, at least and at most
const KEPT = 8; // [s] of curves, as they are seen
const PIECES = 8; // of the motion between two pictures that are traced: no vibration hides between them
const AHEAD = { seconds: 3, states: 40, opening: 20, patience: 200 }; // [ms]: how far it is looked, and opened for
const TRACED = 1 / 120; // [s] of a motion that a script asks for
const STEPS = 30000; // per second that any machine takes
const ROUNDING = 1e-7; // of the reach: places are drawn in single precision
const CURVES_EVERY = 100; // [ms]
const FACTS_EVERY = 1000; // [ms]
const LEAD = 3; // [rad/s] with which a servo is led to its target
const BEHIND = 0.9; // of the speed that was asked for: what is slower is said

/** Starts the page of an arm that runs. */
export async function startRunning(data) {
  const simulation = await makeSimulation(data.simulation);
  const start = Float64Array.from(observe(simulation).drawn);
  const show = openShow(data, [[start]]);
  const page = { data, simulation, show, fresh: null, integrals: [], good: null, held: null, said: 0, told: null, traced: -1 };
  page.curves = listCurves(page);
  page.row = new Float64Array(page.curves.length);
  page.history = makeHistory(page.curves.length);
  const player = makePlayer(0, Infinity, (t) => picture(page, t));
  page.player = player;
  player.rate = seenRate(data.modes[0]?.hz, data.lasts, STEPS * simulation.numbers[data.simulation.slots.h / 8]);
  byId("running").hidden = false;
  connectArm(page);
  if (!show.blind) {
    lookAhead(page, start);
    page.tail = makeTail(show.reach);
    page.between = makePose(data.arms[0]);
    addTrails(show, [page.tail]);
    page.pull = connectPull(show, { holds: data.holds, hold: (held) => takeHold(page, held) });
  }
  poseShow(show, [start]);
  trace(page);
  page.charts = makeCharts(byId("charts"), byId("choose"), [motionOf(page)], readTheme(), () => {});
  page.controls = connect(show, player, {
    field: "deflection",
    scales: { stops: data.limits.deflection > 0 ? SCALES : [1], start: data.view.scale, write: (scale) => `×${scale}` },
    numbers: true,
    enlarges: true,
    step: (by) => stepOn(page, by),
    rescaled: () => page.tail && forgetTip(page.tail),
    dressed: (theme) => dressCharts(page.charts, theme),
    pick: null,
  });
  listModes(page);
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) play(player, true);
  player.begin();
  return page;
}

// Looks where the arm goes by itself: what falls has room to fall in.
function lookAhead(page, start) {
  const { data, simulation, show } = page;
  const states = [start, ...(data.rest ? [Float64Array.from(data.rest)] : [])];
  const first = states.length + AHEAD.opening;
  const latest = performance.now() + AHEAD.patience;
  for (let k = 1, left = AHEAD.patience; k <= AHEAD.states && left > 0; k++, left = latest - performance.now()) {
    if (advance(simulation, (AHEAD.seconds * k) / AHEAD.states, left)) break;
    states.push(Float64Array.from(observe(simulation).drawn));
  }
  restart(simulation);
  simulation.spent = 0;
  beginServos(page);
  widenShow(show, data, [states.slice(0, first)]);
  page.seen = states;
}

// Gives room to an arm that leaves the picture: it was not looked ahead so far, or is driven. A hand keeps its view.
function makeRoom(page, drawn) {
  const { show, data, seen, held } = page;
  if (held || !leavesView(show)) return;
  seen.push(Float64Array.from(drawn));
  widenShow(show, data, [seen], true);
}

function connectArm(page) {
  const { data, simulation, show } = page;
  page.settings = settingKnobs(byId("settings"), data.settings, (values) => {
    setInput(simulation, "settings", values);
    if (!show.blind) weighPayload(show.arms[0], values[1]);
    page.player.refresh();
  });
  if (!show.blind) weighPayload(show.arms[0], data.settings[1].value);
  page.joints = jointKnobs(byId("joints"), data.joints, () => {
    drive(page, 0);
    page.player.refresh();
  });
  byId("joints").hidden = !data.joints.length;
  beginServos(page);
  byId("anew").addEventListener("click", () => startAnew(page));
  byId("relax").addEventListener("click", () => {
    page.settings.restore();
    for (const joint of page.joints) joint.relax();
  });
}

function beginServos(page) {
  page.integrals = page.data.joints.map(({ hold }) => hold);
  page.led = page.data.joints.map(({ start }) => ({ x: start, v: 0 }));
  drive(page, 0);
}

// Leads a servo to its target smoothly: a jump would shake the arm.
function lead(led, target, passed) {
  led.v += passed * (LEAD * LEAD * (target - led.x) - 2 * LEAD * led.v);
  led.x += passed * led.v;
  return led.x;
}

// Gives inputs and servos to the equations; what a servo misses its target by adds up over time.
function drive(page, passed) {
  const { data, simulation, integrals } = page;
  const { n } = data.simulation;
  const y = stateOf(simulation);
  const [hand, servo, play] = [[], [], []];
  data.joints.forEach((joint, k) => {
    const { played, target, torque } = page.joints[k].state;
    const on = page.joints[k].state.on && !played; // by hand
    let at = 0;
    for (let i = 0; i < n; i++) at += joint.row[i] * y[i];
    if (!on) Object.assign(page.led[k], { x: at, v: 0 });
    const wanted = lead(page.led[k], target, on ? passed : 0);
    if (on) {
      const more = integrals[k] + joint.integral * (wanted - at) * passed;
      integrals[k] = Math.min(Math.max(more, -joint.limit), joint.limit);
    }
    hand.push(torque + (on ? integrals[k] : 0));
    play.push(played ? 1 : 0);
    servo.push(wanted, ...(on ? joint.gains : [0, 0]));
  });
  setInput(simulation, "hand", hand);
  setInput(simulation, "play", play);
  setInput(simulation, "servo", servo);
}

/** Starts the arm anew, as its file has it; sliders stay. */
export function startAnew(page) {
  restart(page.simulation);
  beginServos(page);
  page.player.time = 0;
  page.history = makeHistory(page.curves.length);
  page.good = null;
  page.traced = -1;
  if (page.tail) forgetTip(page.tail);
  sayWarning("");
  page.told = null;
  page.player.refresh();
}

function takeHold(page, held) {
  const { simulation } = page;
  if (!held) {
    simulation.pull = null;
  } else {
    if (page.held !== held) {
      simulation.pull = { weights: held.weights, target: [0, 0, 0] };
      page.grasped = Array.from(holdPoint(simulation));
    }
    // As far from where it was taken hold of as the pointer is: deformations may be drawn larger.
    simulation.pull.target = page.grasped.map((x, i) => x + held.by.getComponent(i));
  }
  page.held = held;
  byId("hint").hidden = true;
  page.player.refresh();
}

// Runs until a time, poses and draws; returns what the page's own code took, and drawing [ms].
function picture(page, t) {
  const { simulation, player, show } = page;
  const begun = performance.now();
  if (t < timeOf(simulation) - 1e-9) startAnew(page);
  else if (t > timeOf(simulation)) go(page, t);
  player.time = timeOf(simulation);
  const seen = observe(simulation);
  poseShow(show, [seen.drawn]);
  makeRoom(page, seen.drawn);
  paint(page);
  trace(page, seen, show.arms[0]?.pose);
  if (page.pull) drawPull(page.pull);
  if (begun - page.said > CURVES_EVERY || !player.playing) {
    page.said = begun;
    renewCharts(page.charts, [motionOf(page)], player.time);
    page.read = !page.read || !player.playing; // numbers half as often: nobody reads faster
    if (page.read) sayNow(page.charts);
    sayTime(player, `${player.time.toFixed(2)} s`);
    for (const joint of page.joints) joint.follow(array(simulation, "r"));
  }
  sayFacts(page, begun);
  shade(page);
  const posed = performance.now();
  drawShow(show);
  return [posed - begun, performance.now() - posed];
}

// Shadows of an arm in motion are drawn for every second picture: nobody sees it.
function shade(page) {
  if (page.show.blind) return;
  const { shadowMap } = page.show.stage.renderer;
  page.shaded = !page.shaded || !page.player.playing;
  shadowMap.autoUpdate = false;
  shadowMap.needsUpdate = page.shaded;
}

function go(page, t) {
  const { simulation, player, data } = page;
  const before = timeOf(simulation);
  drive(page, Math.min(t - before, 0.1));
  const end = data.simulation.ends ?? Infinity;
  const until = Math.min(t, end);
  const stopped = follow(page, until, (until - before) / PIECES, patience(player));
  const y = stateOf(simulation);
  if (stopped === data.simulation.broken && page.good && page.good.halved < 4) {
    halve(page);
  } else if (stopped || timeOf(simulation) >= end) {
    play(player, false);
    const why = stopped || "a table of its file has come to its end";
    sayWarning(`The arm stopped at ${timeOf(simulation).toFixed(2)} s: ${why}. Start anew to go on.`);
  } else {
    page.good = { y: Float64Array.from(y), t: timeOf(simulation), halved: page.good?.halved ?? 0 };
  }
}

// Runs until a time, or as long as `patience` [ms] lasts, in pieces of whole steps that are traced but for the last.
function follow(page, until, part, patience) {
  const { simulation, data } = page;
  const h = simulation.numbers[data.simulation.slots.h / 8];
  const piece = h * Math.ceil(part / h);
  const latest = performance.now() + patience;
  let [stopped, changed] = ["", true];
  for (let left = patience; !stopped && left > 0 && timeOf(simulation) < until; left = latest - performance.now()) {
    trace(page);
    stopped = advance(simulation, Math.min(timeOf(simulation) + piece, until), left, changed);
    changed = false;
  }
  return stopped;
}

// Keeps what there is between two pictures: where the tip went, and the curves.
function trace(page, seen = null, pose = null) {
  const { show, data, simulation, between } = page;
  if (timeOf(simulation) <= page.traced) return;
  page.traced = timeOf(simulation);
  const { drawn, tip, energy } = seen ?? observe(simulation);
  const posed = pose ?? (between && poseArm(data.arms[0], drawn, show.settings.scale, between, { ends: true }));
  if (page.tail) followTip(page.tail, posed.tip.p);
  keepSample(page, tip, energy, posed);
}

// Half of the time between pictures: where drawing takes long, the equations may as well.
function patience({ pictures }) {
  const [before, last] = pictures.slice(-2);
  return Math.min(Math.max((last - before) / 2 || 0, PATIENCE[0]), PATIENCE[1]);
}

// Steps were too long for this posture: goes back to the picture before and takes half as long ones.
function halve(page) {
  const { simulation, good, data } = page;
  data.simulation.reach /= 2;
  stateOf(simulation).set(good.y);
  simulation.numbers[data.simulation.slots.t / 8] = good.t;
  setInput(simulation, "settings", Array.from(array(simulation, "settings")));
  good.halved += 1;
}

function keepSample(page, tip, energy, posed) {
  const { simulation, player, data, row } = page;
  const y = stateOf(simulation);
  let k = 0;
  for (const { index, factor } of data.curves) row[k++] = factor * y[index];
  posed?.links.forEach(({ deflection }, i) => {
    if (!data.arms[0].links[i].shape) return;
    const off = deflection[deflection.length - 1];
    row[k++] = off > ROUNDING * page.show.reach ? 1000 * off : 0;
  });
  for (const x of tip) row[k++] = x;
  row.set(energy, k);
  row[k + 3] = energy[0] + energy[1] + energy[2];
  keepValues(page.history, timeOf(simulation), row, KEPT * player.rate);
}

const ENERGIES = ["kinetic", "elastic", "gravitational", "sum"];

// The curves of an arm, in the order in which their values are kept.
function listCurves({ data, show }) {
  const bent = show.blind ? [] : data.arms[0].links.filter(({ shape }) => shape);
  return [
    ...data.curves,
    ...bent.map(({ name }) => ({ name, panel: "Deflection of links' tips", unit: "mm" })),
    ...["tip x", "tip y", "tip z"].map((name) => ({ name, panel: "Tip position", unit: "m" })),
    ...ENERGIES.map((name) => ({ name, panel: "Energy", unit: "J" })),
  ];
}

// The last seconds as the motion that curves are made for.
function motionOf({ curves, history }) {
  const { t, rows } = kept(history);
  const panels = [...new Set(curves.map(({ panel }) => panel))].map((title) => {
    const own = curves.flatMap(({ panel }, k) => (panel === title ? [k] : []));
    return {
      key: title, title, unit: curves[own[0]].unit, shown: true,
      names: own.map((k) => curves[k].name), rows: own.map((k) => rows[k]),
    };
  });
  return { t: { values: t }, panels };
}

// The scale of colours grows with what has been seen.
function paint({ show, player }) {
  const { field } = show.settings;
  if (show.blind || field === "plain") return;
  let most = show.limits[field] ?? 0;
  for (const link of show.arms[0].pose.links) for (const x of link[field]) if (x > most) most = x;
  if (most > 1.02 * (show.limits[field] ?? 0)) {
    show.limits[field] = most;
    sayLegend(show, true);
    player.refresh(); // the arm has the colours of the scale before
  }
}

function sayFacts(page, now) {
  const { simulation, player, data } = page;
  const fresh = { now, t: timeOf(simulation), steps: stepsOf(simulation), spent: simulation.spent, playing: player.playing };
  const last = page.fresh;
  if (!last || !last.playing || !player.playing) {
    page.fresh = last && player.playing && last.playing ? last : fresh;
    return;
  }
  if (now - last.now < FACTS_EVERY || fresh.t < last.t) {
    if (fresh.t < last.t) page.fresh = fresh;
    return;
  }
  page.fresh = fresh;
  const wall = now - last.now;
  const pace = (1000 * (fresh.t - last.t)) / wall / player.rate;
  const share = (fresh.spent - last.spent) / wall;
  byId("facts").textContent = [
    data.facts,
    `${Math.round((fresh.steps - last.steps) / Math.max(fresh.t - last.t, 1e-9))} steps per second of its time`,
    share < 0.001 ? "under 0.1 % of a core" : `${digits(100 * share)} % of a core`,
  ].join(" · ");
  const slow = pace < BEHIND;
  if (slow || page.told === "slow") {
    page.told = slow ? "slow" : null;
    const why = share > 0.3 ? "The arm is too stiff for this machine: it runs" : "This machine draws too slowly: the arm runs";
    sayWarning(slow ? `${why} ${digits(1 / pace)} times slower than it should.` : "", true);
  }
}

function stepOn(page, by) {
  play(page.player, false);
  if (by > 0) page.player.time += by / 60;
  page.player.refresh();
}

function listModes(page) {
  const { modes } = page.data;
  const place = byId("plucks");
  place.hidden = !modes.length;
  modes.forEach((mode, k) => {
    const button = make("button", { type: "button", title: `Pluck this mode, ${heard(mode.hz)}` }, ...wordsOf(mode));
    button.addEventListener("click", () => pluck(page, k));
    place.append(button);
  });
  if (modes.length) sayMode(modes[0]); // hidden, but given room
}

const wordsOf = ({ hz, name }) => [make("b", {}, `${digits(hz)} Hz`), make("span", {}, named(name))];

function sayMode(mode) {
  byId("caption").replaceChildren(...wordsOf(mode), make("span", { class: "heard" }, ` · ${heard(mode.hz)}`));
}

/** Kicks the arm in a mode, and lets its frequency be heard. */
export function pluck(page, k) {
  const { simulation, data, player } = page;
  const mode = data.modes[k];
  if (!mode) throw new Error(`pluck: no mode ${k}: ${data.modes.length} can be plucked, counted from 0`);
  const v = stateOf(simulation).subarray(data.simulation.n);
  mode.kick.forEach((x, i) => {
    v[i] += x;
  });
  playTone(mode.hz);
  sayMode(mode);
  byId("caption").hidden = false;
  byId("hint").hidden = true;
  if (!player.playing) play(player, true);
}

/** What a script can ask of the arm and tell it, beside what it can ask of every page. */
export function offerArm(page) {
  const { simulation, data } = page;
  const drawn = () => {
    page.player.time = timeOf(simulation);
    page.player.refresh();
    return window.flexarm.drawn();
  };
  Object.assign(window.flexarm, {
    state: () => Array.from(stateOf(simulation)),
    tip: () => Array.from(observe(simulation).tip),
    energy: () => Array.from(observe(simulation).energy),
    step: () => simulation.numbers[data.simulation.slots.h / 8],
    input: (name) => Array.from(array(simulation, name)),
    set: (key, value) => page.settings.put(key, value),
    put: (name, values) => setInput(simulation, name, values),
    anew: () => startAnew(page),
    pluck: (mode) => pluck(page, mode),
    /** Pulls a link, at a part of its length, to a place; nothing pulls without one. */
    hold: (link, along, target) => {
      simulation.pull = target ? { weights: weigh(data.holds, link, along), target } : null;
    },
    /** Runs until some times, as fast as it can; gives the states there, and what stopped it. */
    run: async (...times) => {
      const begun = performance.now();
      let stopped = "";
      const states = times.map((t) => {
        stopped ||= follow(page, t, TRACED, Infinity);
        return Array.from(stateOf(simulation));
      });
      const took = performance.now() - begun;
      await drawn();
      return { stopped, states, took, steps: stepsOf(simulation) };
    },
  });
}
