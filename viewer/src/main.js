// Starts the page: reads its data, shows what it is about.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { readData } from "./data.js";
import { byId } from "./dom.js";
import { keepPlace, watchForChange } from "./live.js";
import { startModes } from "./modes.js";
import { startRun } from "./run.js";
import { offer } from "./script.js";

const data = readData();
byId("title").textContent = data.title;
byId("facts").textContent = data.facts;
if (data.warning) {
  byId("warning").textContent = data.warning;
  byId("warning").hidden = false;
}
if (data.notes) {
  byId("notes").hidden = false;
  byId("notes").querySelector("div").textContent = data.notes;
}
if (data.live) watchForChange(data.live);
if (data.kind === "message") {
  document.querySelector("main").hidden = true;
  document.querySelector(".tools").hidden = true;
} else {
  const page = data.kind === "modes" ? startModes(data) : startRun(data);
  if (data.live) keepPlace(page);
  offer(page);
}
