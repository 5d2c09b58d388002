// Follows the run behind the page: a run that has grown goes on in place, another arm is another page.
import { chosen, choose } from "./charts.js";
import { readData } from "./data.js";
import { sayWarning } from "./heading.js";
import { play, seek } from "./player.js";
import { renewRun } from "./run.js";

const EVERY = 700; // [ms]
const KEY = "flexarm-place";

/** Asks the server now and then whether there is newer data than what the page shows. */
export function watchForChange(data, page) {
  let version = data.live;
  const ask = async () => {
    const text = await newerThan(version).catch(() => null);
    if (text === null) {
      sayWarning("The server has ended: this is what it showed last.");
      version = ""; // all is said again if it comes back
    } else if (text) {
      const newer = readData(text);
      if (!page || newer.kind !== "run" || newer.scene !== data.scene) return location.reload();
      version = newer.live;
      renewRun(page, newer);
    }
    return setTimeout(ask, EVERY);
  };
  setTimeout(ask, EVERY);
}

const newerThan = async (version) => ((await get("version")) === version ? "" : get("data"));

async function get(address) {
  const answer = await fetch(address, { cache: "no-store" });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.text();
}

/** Goes to the place of the page before, and remembers the place for the next. */
export function keepPlace(page) {
  const { player, show, charts } = page;
  const place = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  const { stage } = show;
  if (place) {
    player.rate = place.rate;
    seek(player, place.time);
    play(player, place.playing);
    choose(charts, place.curves);
    if (stage.camera && place.eye) {
      stage.camera.position.fromArray(place.eye);
      stage.controls.target.fromArray(place.target);
      stage.keepView = stage.touched = true;
    }
  }
  addEventListener("pagehide", () => {
    const { camera, controls } = stage;
    const seen =
      camera && stage.touched
        ? { eye: camera.position.toArray(), target: controls.target.toArray() }
        : {};
    const { time, playing, rate } = player;
    const now = { time, playing, rate, curves: chosen(charts), ...seen };
    sessionStorage.setItem(KEY, JSON.stringify(now));
  });
}
