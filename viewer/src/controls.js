// Buttons, sliders and keys that runs and modes share.
import { FIELDS } from "./colours.js";
import { byId, make, write } from "./dom.js";
import { changeRate, play, seek } from "./player.js";
import { dressShow, sayLegend } from "./show.js";
import { sayScale } from "./marks.js";
import { connectRecord, savePicture } from "./record.js";
import { moveView, resetView } from "./stage.js";
import { flipTheme, onThemeWish } from "./theme.js";

const KEYS = [
  ["drag", "turn the view; with two fingers or the right button move it"],
  ["scroll pinch", "zoom"],
  ["space", "play or pause"],
  ["← →", "one sample back, on (with shift: ten)"],
  ["home end", "start, end"],
  ["[ ]", "slower, faster"],
  ["− +", "zoom"],
  ["W A S D", "turn the view"],
  ["R", "look at everything"],
  [", .", "deform less, more"],
  ["C", "next colour"],
  ["G T F I", "ghost, trail, ground, names"],
  ["M N", "next, previous mode"],
  ["L", "light or dark"],
  ["P", "save the picture"],
];

/** Connects the controls of a page to its show and player; `on` has what differs between pages. */
export function connect(show, player, on) {
  const page = { show, player, on };
  connectPlaying(page);
  connectScale(page);
  connectField(page);
  connectSwitches(page);
  connectTheme(page);
  connectKeys(page);
  show.stage.controls.addEventListener("change", player.refresh);
  new ResizeObserver(() => {
    show.stage.fits = false;
    player.refresh();
  }).observe(byId("stage"));
  return page;
}

function connectPlaying({ player, on }) {
  const [button, slider, speed] = ["play", "time", "speed"].map(byId);
  slider.min = player.start;
  for (const rate of player.rates) speed.append(make("option", { value: rate }, `${rate}×`));
  button.addEventListener("click", () => play(player, !player.playing));
  slider.addEventListener("input", () => seek(player, Number(slider.value)));
  speed.addEventListener("change", () => {
    player.rate = Number(speed.value);
    player.changed();
  });
  player.changed = () => {
    button.setAttribute("aria-pressed", String(player.playing));
    speed.value = player.rate;
    slider.max = player.end;
    on.changed?.();
  };
  player.changed();
}

/** Writes where the player is. */
export function sayTime(player, text) {
  if (Number.isFinite(player.end)) {
    byId("time").value = player.time;
    byId("time").setAttribute("aria-valuetext", text);
  }
  write(byId("clock"), text);
}

function connectScale(page) {
  const { show, player, on } = page;
  const slider = byId("scale");
  page.scale = on.scales.start;
  page.rescale = () => {
    page.scale = page.stops[Number(slider.value)];
    show.settings.scale = page.scale;
    byId("scale-value").textContent = on.scales.write(page.scale);
    if (on.enlarges) sayScale(page.scale);
    slider.setAttribute("aria-valuetext", on.scales.write(page.scale));
    on.rescaled?.();
    player.refresh();
  };
  slider.addEventListener("input", page.rescale);
  byId("true").addEventListener("click", () => {
    slider.value = page.stops.indexOf(1);
    page.rescale();
  });
  offerScales(page, on.scales.stops);
}

/** Offers scales of deformation; the one that was taken stays. */
export function offerScales(page, stops) {
  const slider = byId("scale");
  page.stops = [...new Set([...stops, page.scale])].sort((a, b) => a - b);
  const useful = page.stops.length > 1;
  byId("scale-label").hidden = byId("ghost-label").hidden = !useful;
  page.show.settings.ghost = useful && !page.show.blind && byId("ghost").checked;
  slider.max = page.stops.length - 1;
  slider.value = page.stops.indexOf(page.scale);
  page.rescale();
}

function connectField(page) {
  const { show, player, on } = page;
  const select = byId("field");
  page.field = on.field;
  page.recolour = () => {
    show.settings.field = select.value;
    on.recoloured?.();
    sayLegend(show, on.numbers);
    player.refresh();
  };
  select.addEventListener("change", () => {
    page.field = select.value;
    page.recolour();
  });
  offerFields(page);
}

/** Offers what links can be coloured by; what was chosen stays, or is taken once it is there. */
export function offerFields(page) {
  const select = byId("field");
  const { limits } = page.show;
  const known = Object.keys(FIELDS).filter((name) => name === "plain" || limits[name] > 0);
  const offered = Array.from(select.options, (option) => option.value);
  if (known.join() !== offered.join()) {
    const options = known.map((name) => make("option", { value: name }, FIELDS[name].title));
    select.replaceChildren(...options);
  }
  byId("field-label").hidden = known.length < 2;
  select.value = known.includes(page.field) ? page.field : "plain";
  page.recolour();
}

function connectSwitches({ show, player }) {
  for (const name of ["ghost", "trail", "names"]) {
    byId(name === "names" ? "naming" : name).addEventListener("change", (event) => {
      show.settings[name] = event.target.checked;
      player.refresh();
    });
  }
  byId("ground").addEventListener("change", (event) => {
    show.stage.grid.visible = show.stage.shadow.visible = event.target.checked;
    player.refresh();
  });
  byId("reset").addEventListener("click", () => resetView(show.stage));
  byId("picture").addEventListener("click", () => savePicture(show));
  show.filmed = connectRecord(byId("record"), show);
}

function connectTheme({ show, player, on }) {
  const dress = () => {
    dressShow(show);
    on.dressed?.(show.theme);
    player.refresh();
  };
  byId("theme").addEventListener("click", () => {
    flipTheme();
    dress();
  });
  onThemeWish(dress);
}

function connectKeys(page) {
  for (const [keys, meaning] of KEYS) {
    if (keys === "M N" && !page.on.pick) continue;
    const cell = make("td");
    for (const key of keys.split(" ")) cell.append(make("kbd", {}, key), " ");
    byId("key-table").append(make("tr", {}, cell, make("td", {}, meaning)));
  }
  byId("help").addEventListener("click", () => byId("keys").showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    if (takesKey(event.target, event.key)) return;
    if (press(page, event)) event.preventDefault();
  });
}

// Controls keep the keys that they use themselves.
function takesKey(target, key) {
  const tag = target.tagName;
  if (tag === "SELECT") return true;
  if (tag === "INPUT" && target.type === "range") return /^(Arrow|Home|End|Page)/.test(key);
  return key === " " && ["BUTTON", "INPUT", "SUMMARY"].includes(tag);
}

function press({ show, player, on }, { key, shiftKey }) {
  const view = (move) => {
    moveView(show.stage, move);
    player.refresh();
  };
  const nudge = (id, by) => {
    const slider = byId(id);
    slider.value = Number(slider.value) + by;
    slider.dispatchEvent(new Event("input"));
  };
  const cycle = () => {
    const select = byId("field");
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
    select.dispatchEvent(new Event("change"));
  };
  const actions = {
    " ": () => play(player, !player.playing),
    arrowleft: () => on.step(shiftKey ? -10 : -1),
    arrowright: () => on.step(shiftKey ? 10 : 1),
    home: () => seek(player, player.start),
    end: () => seek(player, player.end),
    "[": () => changeRate(player, -1),
    "]": () => changeRate(player, 1),
    "-": () => view({ nearer: 1 / 1.15 }),
    "+": () => view({ nearer: 1.15 }),
    "=": () => view({ nearer: 1.15 }),
    a: () => view({ around: -0.1 }),
    d: () => view({ around: 0.1 }),
    w: () => view({ over: -0.1 }),
    s: () => view({ over: 0.1 }),
    r: () => resetView(show.stage),
    ",": () => nudge("scale", -1),
    ".": () => nudge("scale", 1),
    c: cycle,
    g: () => byId("ghost").click(),
    t: () => byId("trail").click(),
    f: () => byId("ground").click(),
    i: () => byId("naming").click(),
    l: () => byId("theme").click(),
    p: () => byId("picture").click(),
    m: () => on.pick?.(1),
    n: () => on.pick?.(-1),
    "?": () => byId("help").click(),
  };
  const action = actions[key.toLowerCase()];
  action?.();
  return action !== undefined;
}
