// What is written over the drawing: a scale bar, names, and by how much deformation is enlarged.
import { byId, make, named } from "./dom.js";
import { pixelAt, project } from "./stage.js";

const BAR = 110; // [px]: the bar is no longer than that,
const PART = 0.16; // nor than that of the stage

/** Makes the names of an arm's links and of the bodies and obstacles around it. */
export function makeNames(show) {
  const place = byId("names");
  const links = show.arms[0].arm.links.map((link, i) => ({
    label: make("span", {}, named(link.name)),
    at: ({ arms }) => {
      const { centres } = arms[0].pose.links[i];
      const middle = 3 * Math.floor(centres.length / 6);
      return centres.length > 6
        ? centres.slice(middle, middle + 3)
        : [0, 1, 2].map((k) => (centres[k] + centres[k + 3]) / 2);
    },
  }));
  const bodies = (show.around?.bodies[0] ?? []).map((body) => ({
    label: make("span", {}, named(body.name)),
    at: () => body.ball.position.toArray(),
  }));
  show.names = [...links, ...bodies];
  place.replaceChildren(...show.names.map(({ label }) => label));
}

/** Moves the names to where they belong; one that would cover another is left out. */
export function placeNames(show) {
  const place = byId("names");
  if (place.hidden === show.settings.names) place.hidden = !show.settings.names;
  if (!show.settings.names) return;
  const taken = [];
  for (const { label, at } of show.names) {
    const [x, y] = project(show.stage, at(show));
    const half = label.offsetWidth / 2;
    const box = [x - half, y - 26, x + half, y - 6];
    const free = taken.every((b) => box[2] < b[0] || box[0] > b[2] || box[3] < b[1] || box[1] > b[3]);
    label.style.visibility = free ? "visible" : "hidden";
    if (free) taken.push(box);
    label.style.transform = `translate(${(x - half).toFixed(1)}px, ${(y - 26).toFixed(1)}px)`;
  }
}

/** Draws the scale bar: a round length at the distance of what the camera looks at. */
export function drawBar({ stage }) {
  const room = Math.min(BAR, PART * stage.width);
  const most = room * pixelAt(stage, stage.controls.target);
  const power = 10 ** Math.floor(Math.log10(most));
  const length = [5, 2, 1].map((k) => k * power).find((each) => each <= most) ?? power;
  const wide = `${((room * length) / most).toFixed(1)}px`;
  if (wide === stage.bar) return;
  stage.bar = wide;
  byId("bar").style.width = wide;
  const [factor, unit] = [[1, "m"], [1e3, "mm"], [1e6, "µm"]].find(([f]) => f * length > 0.9) ?? [1e6, "µm"];
  byId("bar-length").textContent = `${Number((factor * length).toPrecision(1))} ${unit}`;
}

/** Says by how much deformation is drawn larger than it is, unless it is as it is. */
export function sayScale(scale) {
  byId("enlarged").hidden = scale === 1;
  byId("enlarged-by").textContent = enlarged(scale);
}

const enlarged = (scale) => (scale === 0 ? "Deformation not drawn" : `Deformation drawn ×${scale}`);

/** Draws what is written over the drawing into a picture of it, for films and files. */
export function writeMarks(show, context, ratio) {
  const box = byId("stage").getBoundingClientRect();
  context.save();
  context.scale(ratio, ratio);
  for (const id of ["enlarged-by", "bar-length", "bar", "names", "runs", "legend"]) {
    const element = byId(id);
    if (!element.checkVisibility?.() && !element.offsetParent) continue;
    drawElement(context, element, box);
  }
  const clock = byId("clock");
  context.font = `600 14px ${getComputedStyle(clock).fontFamily}`;
  context.fillStyle = getComputedStyle(clock).color;
  context.textAlign = "right";
  context.fillText(clock.textContent, box.width - 14, 22);
  context.restore();
}

// Draws an element and those in it: their background, border and text, where they are on the page.
function drawElement(context, element, box) {
  const style = getComputedStyle(element);
  if (style.visibility === "hidden" || element.hidden) return;
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y] = [left - box.left, top - box.top];
  if (element.tagName === "I" || element.id === "bar") {
    drawLine(context, style, x, y, width, height);
    return;
  }
  if (element.children.length && element.tagName !== "SPAN") {
    for (const child of element.children) drawElement(context, child, box);
    return;
  }
  if (!/, 0\)|transparent/.test(style.backgroundColor)) {
    context.fillStyle = style.backgroundColor;
    context.fillRect(x, y, width, height);
  }
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.textBaseline = "middle";
  const pad = parseFloat(style.paddingLeft) || 0;
  context.fillText(element.textContent, x + pad, y + height / 2, width);
}

function drawLine(context, style, x, y, width, height) {
  const stops = style.backgroundImage.match(/rgb\([^)]+\)/g);
  if (stops) {
    const upward = height > width;
    const fill = upward
      ? context.createLinearGradient(0, y + height, 0, y)
      : context.createLinearGradient(x, 0, x + width, 0);
    stops.forEach((stop, k) => fill.addColorStop(k / (stops.length - 1), stop));
    context.fillStyle = fill;
    context.fillRect(x, y, width, height);
    return;
  }
  context.strokeStyle = style.borderTopColor;
  context.lineWidth = Math.max(parseFloat(style.borderTopWidth) || 0, 2);
  context.beginPath();
  context.moveTo(x, y + 1);
  context.lineTo(x + width, y + 1);
  context.stroke();
}
