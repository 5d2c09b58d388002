// Starts the page: reads its data, shows what it is about.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { readData } from "./data.js";
import { byId } from "./dom.js";
import { sayHeading, sayWarning } from "./heading.js";
import { keepPlace, watchForChange } from "./live.js";
import { startModes } from "./modes.js";
import { startRun } from "./run.js";
import { offerArm, startRunning } from "./running.js";
import { offer } from "./script.js";

const data = readData(byId("data").textContent);
sayHeading(data);
let page = null;
if (data.kind === "message") {
  document.querySelector("main").hidden = true;
  document.querySelector(".tools").hidden = true;
} else if (data.kind === "live") {
  const ready = startRunning(data).then((running) => {
    offer(running);
    offerArm(running);
    return window.flexarm.drawn();
  }, (error) => sayWarning(`This browser cannot run the arm: ${error.message}`));
  window.flexarm = { drawn: () => ready }; // until it runs
} else {
  page = data.kind === "modes" ? startModes(data) : startRun(data);
  if (data.live) keepPlace(page);
  offer(page);
}
if (data.live) watchForChange(data, page);
