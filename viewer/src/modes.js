// The page of mode shapes: pick one, see it swing about where the arm is.
import { connect, sayTime } from "./controls.js";
import { digits } from "./colours.js";
import { byId, make, named } from "./dom.js";
import { makePose, poseArm, reachOf } from "./kinematics.js";
import { makePlayer, play, seek } from "./player.js";
import { drawShow, openShow, poseShow, sayLegend } from "./show.js";

const PERIOD = 1.6; // [s] of a swing on the screen
const SWING = 0.1; // of the arm's reach: the largest displacement at amplitude 1
const TURN = 0.35; // [rad]: the largest turn then
const STOPS = [0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3];
const PHASES = 16;

/** Starts the page of an arm's modes. */
export function startModes(data) {
  const rest = Float64Array.from(data.state.values);
  const [arm] = data.arms;
  const reach = reachOf(arm);
  const modes = data.modes.map((mode) => ({ ...mode, ...sizes(arm, rest, mode) }));
  const page = { data, rest, modes, reach, state: rest.slice(), picked: 0, amplitude: 1 };
  const samples = modes.slice(0, 12).flatMap((mode) =>
    [0, Math.PI].map((phase) => swing(page, mode, phase, 1, rest.slice())),
  );
  page.show = openShow(data, [[rest, ...samples]]);
  page.player = makePlayer(0, PERIOD, (t) => picture(page, t));
  page.player.rate = 1;
  byId("trail-label").hidden = true;
  byId("scale-name").textContent = "Amplitude";
  byId("ghost-name").textContent = "arm at rest";
  listModes(page);
  connect(page.show, page.player, {
    field: "deflection",
    changed: () => page.buttons && sayMode(page),
    scales: { stops: STOPS, start: 1, write: (scale) => `×${scale}` },
    numbers: false,
    step: (by) => {
      play(page.player, false);
      seek(page.player, page.player.time + (by * PERIOD) / 32);
    },
    recoloured: () => findLimits(page),
    rescaled: () => {
      page.amplitude = page.show.settings.scale;
      findLimits(page);
    },
    pick: (by) => pick(page, (page.picked + by + modes.length) % modes.length),
  });
  pick(page, Math.max(0, modes.findIndex(vibrates)));
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) play(page.player, true);
  page.player.begin();
  return page;
}

// The largest displacement [m] and turn [rad] of any section per unit of a mode.
function sizes(arm, rest, mode) {
  const [still, pose] = [makePose(arm), makePose(arm)];
  poseArm(arm, rest, 1, still);
  const most = Math.max(...mode.re.values.map(Math.abs), ...mode.im.values.map(Math.abs), 1e-300);
  const small = 1e-4 / most;
  let [moved, turned] = [0, 0];
  for (const part of [mode.re.values, mode.im.values]) {
    poseArm(arm, rest.map((x, k) => x + small * part[k]), 1, pose);
    pose.links.forEach((link, i) => {
      moved = Math.max(moved, furthest(link.centres, still.links[i].centres, 3) / small);
      // A turn by a small angle changes the entries of a rotation by sqrt(2) times that together.
      turned = Math.max(turned, furthest(link.turns, still.links[i].turns, 9) / (Math.SQRT2 * small));
    });
  }
  return { moved, turned };
}

function furthest(now, then, width) {
  let most = 0;
  for (let k = 0; k < now.length; k += width) {
    let sum = 0;
    for (let j = k; j < k + width; j++) sum += (now[j] - then[j]) ** 2;
    most = Math.max(most, sum);
  }
  return Math.sqrt(most);
}

// The state at a phase of a swing that is large enough to be seen, times an amplitude.
function swing({ rest, reach }, mode, phase, amplitude, out) {
  const factor = amplitude * Math.min((SWING * reach) / (mode.moved || 1), TURN / (mode.turned || 1));
  const [c, s] = [factor * Math.cos(phase), factor * Math.sin(phase)];
  for (let k = 0; k < rest.length; k++) {
    out[k] = rest[k] + c * mode.re.values[k] - s * mode.im.values[k];
  }
  return out;
}

function picture(page, t) {
  const { modes, picked, show, state, player } = page;
  const begun = performance.now();
  swing(page, modes[picked], (2 * Math.PI * t) / PERIOD, page.amplitude, state);
  poseModes(page);
  const degrees = Math.round((360 * t) / PERIOD) % 360;
  sayTime(player, `phase ${degrees}°`);
  const posed = performance.now();
  drawShow(show);
  return [posed - begun, performance.now() - posed];
}

// The ghost is the arm at rest, as it hangs there; the swinging arm is drawn as it is.
function poseModes({ show, state, rest }) {
  show.settings.scale = 1;
  poseShow(show, [state], rest);
}

function findLimits(page) {
  const { data, rest, modes, picked, show } = page;
  const { field } = show.settings;
  if (field === "plain") return;
  const [arm] = data.arms;
  const pose = makePose(arm);
  const state = rest.slice();
  let most = 0;
  for (let k = 0; k < PHASES; k++) {
    swing(page, modes[picked], (2 * Math.PI * k) / PHASES, page.amplitude, state);
    for (const link of poseArm(arm, state, 1, pose).links) {
      for (const value of link[field]) if (value > most) most = value;
    }
  }
  show.limits[field] = most || 1;
  sayLegend(show, false);
}

function listModes(page) {
  const place = byId("modes");
  place.hidden = false;
  place.setAttribute("role", "radiogroup");
  page.buttons = page.modes.map((mode, k) => {
    const button = make(
      "button",
      { type: "button", role: "radio", "aria-checked": "false", tabindex: k ? -1 : 0 },
      make("b", {}, frequency(mode)),
      make("span", {}, named(mode.name), damping(mode)),
    );
    button.addEventListener("click", () => pick(page, k));
    button.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      pick(page, (k + by + page.modes.length) % page.modes.length);
      page.buttons[page.picked].focus();
    });
    place.append(button);
    return button;
  });
}

// Rigid-body motions come first in the list, and are not what anybody opens the page for.
const vibrates = ({ hz, damping: ratio }) => hz > 0 && Math.abs(ratio) < 1;
const frequency = ({ hz }) => (hz > 0 ? `${digits(hz)} Hz` : "0 Hz");
const damping = ({ damping: ratio }) => (ratio ? ` · damping ${digits(100 * ratio)} %` : "");

/** Picks a mode. */
export function pick(page, k) {
  page.picked = k;
  page.buttons.forEach((button, i) => {
    button.setAttribute("aria-checked", String(i === k));
    button.tabIndex = i === k ? 0 : -1;
  });
  sayMode(page);
  findLimits(page);
  page.player.refresh();
}

function sayMode({ modes, picked, player }) {
  const mode = modes[picked];
  const caption = byId("caption");
  caption.hidden = false;
  caption.replaceChildren(
    make("b", {}, `Mode ${picked + 1}: ${frequency(mode)}`),
    make("span", {}, named(mode.name), damping(mode), pace(mode.hz, player.rate)),
  );
}

// How much slower or faster than it is a mode is shown; a motion without vibration has no pace.
function pace(hz, rate) {
  if (!(hz > 0)) return "";
  const slower = (hz * PERIOD) / rate;
  if (Math.abs(slower - 1) < 0.005) return "";
  const [times, word] = slower > 1 ? [slower, "slower"] : [1 / slower, "faster"];
  return ` · shown ${digits(times)} times ${word}`;
}
