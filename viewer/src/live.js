// Reloads the page when the run behind it has changed, and goes on where it was.
import { play, seek } from "./player.js";

const EVERY = 700; // [ms]
const KEY = "flexarm-place";

/** Asks the server now and then whether there is a newer page. */
export function watchForChange(version) {
  setInterval(async () => {
    try {
      const answer = await fetch("version", { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== version) location.reload();
    } catch {
      // the server has gone: what is shown stays
    }
  }, EVERY);
}

/** Goes to the place of the page before, and remembers the place for the next. */
export function keepPlace({ player, show }) {
  const place = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  const { camera, controls } = show.stage;
  if (place) {
    seek(player, place.time);
    play(player, place.playing);
    if (camera) {
      camera.position.fromArray(place.eye);
      controls.target.fromArray(place.target);
      show.stage.keepView = true;
    }
  }
  addEventListener("pagehide", () => {
    const seen = camera ? { eye: camera.position.toArray(), target: controls.target.toArray() } : {};
    const now = { time: player.time, playing: player.playing, ...seen };
    sessionStorage.setItem(KEY, JSON.stringify(now));
  });
}
