// Curves over time, in panels that share their time axis and a cursor.
import uPlot from "uplot";
import { digits } from "./colours.js";
import { drawCurves } from "./curves.js";
import { make, named, write } from "./dom.js";

const HEIGHT = 170;
const COLOURS = 8;
// Dashes of the curves beyond the colours, by run; the last are taken for all that follow.
const DASHES = [
  [undefined, [2, 3], [9, 3], [9, 3, 2, 3]],
  [[6, 4], [6, 4, 2, 4], [3, 5], [6, 3, 2, 3, 2, 3]],
];
const MANY = 3; // runs: their curves have the colours of the runs, and dashes by name
const cycle = (k) => Math.min(Math.floor(k / COLOURS), DASHES[0].length - 1);
const INSTANT = 1e-6; // [s]: values of a live arm that has not begun are nearer to each other
const NOTHING = 1e-9; // in any unit: rounding, which fills no panel

/** Joins the panels of the motions: a curve of another run has its name again. */
export function joinPanels(motions) {
  const panels = new Map();
  motions.forEach((motion, run) => {
    for (const panel of motion.panels) {
      const key = `${panel.key} ${panel.unit}`;
      if (!panels.has(key)) panels.set(key, { ...panel, runs: [] });
      panels.get(key).runs.push({ run, motion, panel });
    }
  });
  return [...panels.values()].map(joinPanel);
}

function joinPanel(panel) {
  const names = [...new Set(panel.runs.flatMap(({ panel: own }) => own.names))];
  const tables = [];
  const series = [];
  for (const { run, motion, panel: own } of panel.runs) {
    tables.push([motion.t.values, ...(own.rows ?? rowsOf(own.values))]);
    for (const name of own.names) series.push({ name, run, colour: names.indexOf(name) });
  }
  const data = tables.length > 1 ? uPlot.join(tables.map((t) => t.map((row) => Array.from(row)))) : tables[0];
  let size = 0;
  for (const row of data.slice(1)) for (const x of row) size = Math.max(size, Math.abs(x ?? 0));
  const { key, title, unit, shown } = panel;
  return { key, title, unit, shown, names, series, data, size };
}

function rowsOf({ shape: [count, samples], values }) {
  return Array.from({ length: count }, (_, k) => values.subarray(k * samples, (k + 1) * samples));
}

/**
 * Makes the panels in a place on the page, and in another the boxes that choose among them; `seek`
 * is called with a time that is pointed at.
 */
export function makeCharts(place, chooser, motions, theme, seek) {
  const sight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) look(charts, target, isIntersecting);
  });
  const charts = {
    place, chooser, sight, theme, seek, plots: [], time: 0, hovered: null, range: null,
    events: [], // [s]
    shown: {}, // panels that somebody has switched on or off
    hidden: {}, // names of the curves that are switched off, by panel
  };
  renewCharts(charts, motions);
  new ResizeObserver(() => charts.plots.forEach(resize)).observe(place);
  return charts;
}

/** Shows the curves of motions, and the cursor at a time; panels and curves that are there already stay as they are. */
export function renewCharts(charts, motions, time = charts.time) {
  charts.time = time; // the cursor moves there once they are drawn
  charts.span = [
    Math.min(...motions.map((m) => m.t.values[0])),
    Math.max(...motions.map((m) => m.t.values[m.t.values.length - 1])),
  ];
  charts.runs = motions.length;
  const before = new Map(charts.plots.map((plot) => [signature(plot.panel), plot]));
  charts.plots = joinPanels(motions).map((panel) => {
    const plot = before.get(signature(panel));
    if (!plot) return makePlot(charts, panel);
    before.delete(signature(panel));
    plot.panel = panel;
    if (plot.seen) plot.view.setData(panel.data);
    return plot;
  });
  for (const plot of before.values()) {
    charts.sight.unobserve(plot.figure);
    plot.view.destroy();
    plot.figure.remove();
  }
  charts.plots.forEach(({ figure }, k) => {
    if (charts.place.children[k] !== figure) charts.place.insertBefore(figure, charts.place.children[k] ?? null);
  });
  listPanels(charts);
}

// Only what is in sight is drawn anew.
function look(charts, figure, seen) {
  const plot = charts.plots.find((each) => each.figure === figure);
  if (!plot) return;
  plot.seen = seen;
  if (!seen) return;
  if (plot.view.data !== plot.panel.data) plot.view.setData(plot.panel.data);
  markNow(plot);
  sayValues(charts);
}

// What a plot is made for: with the same, only its numbers change.
const signature = ({ key, unit, series }) =>
  JSON.stringify([key, unit, series.map(({ name, run }) => [name, run])]);

function listPanels(charts) {
  const { chooser, plots } = charts;
  const boxes = Array.from(chooser.querySelectorAll("input"), (box) => box.dataset.panel);
  if (boxes.join() === plots.map(({ panel }) => panel.key).join()) return;
  chooser.hidden = false;
  chooser.replaceChildren(make("span", { class: "title" }, "Curves"));
  for (const { panel, figure } of plots) {
    const box = make("input", { type: "checkbox", "data-panel": panel.key, checked: !figure.hidden });
    box.addEventListener("change", () => showPanel(charts, panel.key, box.checked));
    chooser.append(make("label", { class: "check" }, box, panel.title));
  }
}

/** Tells which panels and curves are chosen. */
export const chosen = (charts) => {
  const hidden = Object.entries(charts.hidden).map(([key, names]) => [key, [...names]]);
  return { shown: charts.shown, hidden: Object.fromEntries(hidden) };
};

/** Chooses panels and curves as they were. */
export function choose(charts, { shown, hidden }) {
  for (const [key, names] of Object.entries(hidden)) charts.hidden[key] = new Set(names);
  for (const plot of charts.plots) switchCurves(plot);
  for (const [key, on] of Object.entries(shown)) showPanel(charts, key, on);
  for (const box of charts.chooser.querySelectorAll("input")) {
    box.checked = shown[box.dataset.panel] ?? box.checked;
  }
}

function makePlot(charts, panel) {
  const heading = make("h3", {}, panel.title, make("span", { class: "unit" }, ` [${panel.unit}]`));
  const legend = make("div", { class: "legend" });
  const holder = make("div", { class: "plot" });
  const figure = make("figure", { class: "panel", "data-panel": panel.key }, heading, legend, holder);
  figure.hidden = !(charts.shown[panel.key] ?? panel.shown);
  charts.place.append(figure);
  charts.hidden[panel.key] ??= new Set();
  const plot = { charts, panel, figure, holder, seen: true, now: make("div", { class: "now" }) };
  plot.chips = panel.names.map((name, k) => makeChip(plot, legend, name, k));
  plot.view = new uPlot(options(plot), panel.data, holder);
  plot.view.over.append(plot.now);
  resize(plot);
  switchCurves(plot);
  listen(plot);
  charts.sight.observe(figure);
  return plot;
}

const strokeOf = ({ theme, runs }, { run, colour }) =>
  runs < MANY ? theme.curves[colour % COLOURS] : theme.runs[run % theme.runs.length];

const dashOf = ({ runs }, { run, colour }) =>
  runs < MANY ? DASHES[run][cycle(colour)] : DASHES[0][colour % DASHES[0].length];

function makeChip(plot, legend, name, k) {
  const value = make("output", {});
  const many = plot.charts.runs >= MANY;
  const look = many ? `dash${k % DASHES[0].length}` : `curve${k % COLOURS} dash${cycle(k)}`;
  const swatch = make("i", { class: `swatch ${look}` });
  const chip = make("button", { type: "button" }, swatch, named(name), value);
  chip.addEventListener("click", () => {
    const hidden = plot.charts.hidden[plot.panel.key];
    if (!hidden.delete(name)) hidden.add(name);
    switchCurves(plot);
  });
  legend.append(chip);
  return { chip, value };
}

function switchCurves({ panel, charts, chips, view }) {
  const hidden = charts.hidden[panel.key];
  panel.names.forEach((name, k) => {
    chips[k].chip.setAttribute("aria-pressed", String(!hidden.has(name)));
  });
  panel.series.forEach((each, i) => {
    const show = !hidden.has(each.name);
    if (view.series[i + 1].show !== show) view.setSeries(i + 1, { show });
  });
}

function options(plot) {
  const { charts, panel } = plot;
  const axis = (values) => ({
    stroke: () => charts.theme.soft,
    grid: { stroke: () => charts.theme.line, width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
    gap: 6,
    values,
  });
  const styles = () => panel.series.map((each) => ({ stroke: strokeOf(charts, each), dash: dashOf(charts, each) }));
  const numbers = (_, ticks) => ticks.map((tick) => (tick === null ? "" : tickText(tick)));
  return {
    width: 320,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 18, 0, 0],
    scales: {
      x: { time: false, range: (u, low, high) => charts.range ?? wide(...charts.span) },
      y: { range: (u, low, high) => room(low, high) },
    },
    axes: [
      { ...axis((u, ticks) => ticks.map((t, i) => `${tickText(t)}${i === ticks.length - 1 ? " s" : ""}`)), size: 26 },
      { ...axis(numbers), size: 52 },
    ],
    cursor: {
      sync: { key: "time" },
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
      y: false,
    },
    pxAlign: 0, // else a curve at one pixel per pixel has stairs
    series: [{}, ...panel.series.map((each) => ({
      pxAlign: 0,
      label: each.name,
      stroke: () => strokeOf(charts, each),
      paths: () => null, // drawCurves draws it
      spanGaps: true,
      points: { show: false },
    }))],
    hooks: {
      setCursor: [(u) => hover(charts, u)],
      setSelect: [(u) => zoom(charts, u)],
      draw: [(u) => drawCurves(u, uPlot.pxRatio, styles()), (u) => drawEvents(charts, u), () => markNow(plot)],
    },
  };
}

// Dotted lines where something happened.
function drawEvents({ events, theme }, u) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = theme.soft;
  ctx.setLineDash([2, 3]);
  for (const t of events) {
    const x = Math.round(u.valToPos(t, "x", true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

// One instant has room for a second after it.
const wide = (low, high) => [low, high > low + INSTANT ? high : low + 1];

const tickText = (value) => String(Number(value.toPrecision(6))).replaceAll("-", "−");

function room(low, high) {
  if (low === null || high === null || Math.max(-low, high) < NOTHING) return [-1, 1];
  const more = 0.06 * (high - low) || Math.abs(high) || 1;
  return [low - more, high + more];
}

function hover(charts, u) {
  if (!charts.plots.some((plot) => plot.view === u)) return;
  const index = u.cursor.idx;
  const time = u.cursor.left >= 0 && index !== null && index !== undefined ? u.data[0][index] : null;
  if (time === charts.hovered) return;
  charts.hovered = time;
  sayValues(charts);
}

function zoom(charts, u) {
  const { left, width } = u.select;
  if (width > 4) charts.range = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
  u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  if (width > 4) redraw(charts);
}

function redraw(charts) {
  for (const plot of charts.plots) plot.view.setData(plot.view.data, true);
}

// A click or a finger on a panel goes to that time, a double click shows all times again.
function listen(plot) {
  const { over } = plot.view;
  const { charts } = plot;
  let from = null;
  const seek = (event) => charts.seek(plot.view.posToVal(event.clientX - over.getBoundingClientRect().left, "x"));
  over.addEventListener("pointerdown", (event) => {
    from = event.clientX;
  });
  over.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") seek(event);
  });
  over.addEventListener("pointerup", (event) => {
    if (from !== null && Math.abs(event.clientX - from) < 4) seek(event);
    from = null;
  });
  over.addEventListener("dblclick", () => {
    charts.range = null;
    redraw(charts);
  });
}

function resize(plot) {
  const width = plot.holder.clientWidth;
  if (width > 0 && width !== plot.view.width) plot.view.setSize({ width, height: HEIGHT });
}

function markNow(plot) {
  if (!plot.view) return;
  const x = plot.view.valToPos(plot.charts.time, "x");
  const seen = x >= 0 && x <= plot.view.bbox.width / uPlot.pxRatio;
  const place = seen ? `translateX(${x.toFixed(1)}px)` : "";
  if (place === plot.marked) return;
  plot.marked = place;
  plot.now.style.transform = place;
  plot.now.style.opacity = seen ? 1 : 0;
}

/** Moves the cursor to a time, and says the values there unless told not to. */
export function moveCursor(charts, time, values = true) {
  charts.time = time;
  for (const plot of charts.plots) if (!plot.figure.hidden && plot.seen) markNow(plot);
  if (values) sayNow(charts);
}

/** Says the values at the cursor, unless others are pointed at. */
export function sayNow(charts) {
  if (charts.hovered === null) sayValues(charts);
}

function sayValues(charts) {
  const time = charts.hovered ?? charts.time;
  for (const plot of charts.plots) {
    if (plot.figure.hidden || !plot.seen) continue;
    plot.panel.names.forEach((name, k) => {
      const said = Array.from({ length: charts.runs }, (_, run) => {
        const row = plot.panel.series.findIndex((each) => each.name === name && each.run === run);
        const value = row < 0 ? null : valueAt(plot.panel.data, row + 1, time);
        return value === null ? "–" : digits(round(value, plot.panel.size));
      });
      write(plot.chips[k].value, said.join(" | "));
    });
  }
}

// What is nothing beside the rest of a panel is said to be 0.
const round = (value, size) => (Math.abs(value) < 1e-7 * size ? 0 : value);

// Joined runs have gaps where the other has samples: the value is interpolated across them.
function valueAt(data, row, time) {
  const times = data[0];
  const values = data[row];
  let low = 0;
  let high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle;
    else high = middle;
  }
  while (low > 0 && (values[low] === null || values[low] === undefined)) low--;
  while (high < times.length - 1 && (values[high] === null || values[high] === undefined)) high++;
  const [a, b] = [values[low] ?? values[high], values[high] ?? values[low]];
  if (a === null || a === undefined) return null;
  const part = times[high] > times[low] ? (time - times[low]) / (times[high] - times[low]) : 0;
  return a + Math.min(Math.max(part, 0), 1) * (b - a);
}

/** Shows or hides a panel. */
export function showPanel(charts, key, shown) {
  charts.shown[key] = shown;
  for (const plot of charts.plots) {
    if (plot.panel.key !== key) continue;
    plot.figure.hidden = !shown;
    resize(plot);
    markNow(plot);
  }
  sayValues(charts);
}

/** Draws all panels in the colours of a theme. */
export function dressCharts(charts, theme) {
  charts.theme = theme;
  for (const plot of charts.plots) plot.view.redraw(false, true);
}
