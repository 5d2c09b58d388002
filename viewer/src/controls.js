// Buttons, sliders and keys that runs and modes share.
import { FIELDS } from "./colours.js";
import { byId, make } from "./dom.js";
import { changeRate, play, seek } from "./player.js";
import { dressShow, drawShow, sayLegend } from "./show.js";
import { moveView, resetView } from "./stage.js";
import { flipTheme, onThemeWish } from "./theme.js";

const KEYS = [
  ["space", "play or pause"],
  ["← →", "one sample back, on (with shift: ten)"],
  ["home end", "start, end"],
  ["[ ]", "slower, faster"],
  ["− +", "zoom"],
  ["W A S D", "turn the view"],
  ["R", "look at everything"],
  [", .", "deform less, more"],
  ["C", "next colour"],
  ["G T F", "ghost, trail, ground"],
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
  new ResizeObserver(player.refresh).observe(byId("stage"));
  return page;
}

function connectPlaying({ player, on }) {
  const [button, slider, speed] = ["play", "time", "speed"].map(byId);
  slider.min = player.start;
  slider.max = player.end;
  for (const rate of player.rates) speed.append(make("option", { value: rate }, `${rate}×`));
  button.addEventListener("click", () => play(player, !player.playing));
  slider.addEventListener("input", () => seek(player, Number(slider.value)));
  speed.addEventListener("change", () => {
    player.rate = Number(speed.value);
  });
  player.changed = () => {
    button.setAttribute("aria-pressed", String(player.playing));
    speed.value = player.rate;
    on.changed?.();
  };
  player.changed();
}

/** Writes where the player is. */
export function sayTime(player, text) {
  byId("time").value = player.time;
  byId("time").setAttribute("aria-valuetext", text);
  byId("clock").textContent = text;
}

function connectScale({ show, player, on }) {
  const slider = byId("scale");
  const { stops, start, write } = on.scales;
  byId("scale-label").hidden = byId("ghost-label").hidden = stops.length < 2;
  if (stops.length < 2) show.settings.ghost = false;
  slider.max = stops.length - 1;
  slider.value = stops.indexOf(start);
  const take = () => {
    show.settings.scale = stops[Number(slider.value)];
    byId("scale-value").textContent = write(show.settings.scale);
    slider.setAttribute("aria-valuetext", write(show.settings.scale));
    on.rescaled?.();
    player.refresh();
  };
  slider.addEventListener("input", take);
  take();
}

function connectField({ show, player, on }) {
  const select = byId("field");
  const known = Object.keys(FIELDS).filter((name) => name === "plain" || show.limits[name] > 0);
  for (const name of known) select.append(make("option", { value: name }, FIELDS[name].title));
  byId("field-label").hidden = known.length < 2;
  show.settings.field = known.includes("deflection") ? "deflection" : "plain";
  select.value = show.settings.field;
  const take = () => {
    show.settings.field = select.value;
    on.recoloured?.();
    sayLegend(show, on.numbers);
    player.refresh();
  };
  select.addEventListener("change", take);
  take();
}

function connectSwitches({ show, player }) {
  for (const name of ["ghost", "trail"]) {
    byId(name).addEventListener("change", (event) => {
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
}

function savePicture(show) {
  drawShow(show); // a browser forgets a drawing once it has shown it
  const { canvas } = show.stage;
  canvas.toBlob((blob) => {
    const link = make("a", { download: "flexarm.png", href: URL.createObjectURL(blob) });
    link.click();
    URL.revokeObjectURL(link.href);
  });
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
