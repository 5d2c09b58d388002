// What happened during a run: marks on the time slider, and a list to go there.
import { byId, make, named } from "./dom.js";

const THUMB = 16; // [px] of the slider that a mark cannot be in

/** Marks and lists the events of some motions; `seek` is called with the time of one. */
export function showEvents(motions, player, seek) {
  const rows = motions.flatMap(({ events, label }) => (events ?? []).map((event) => ({ ...event, label })));
  rows.sort((a, b) => a.t - b.t);
  const place = byId("events");
  place.hidden = !rows.length;
  const compared = motions.length > 1;
  const buttons = rows.map(({ t, what, label }) => {
    const button = make(
      "button", { type: "button" },
      make("b", {}, `${t.toFixed(3)} s`), " ", named(compared ? `${label}: ${what}` : what),
    );
    button.addEventListener("click", () => seek(t));
    return button;
  });
  place.replaceChildren(...buttons);
  const length = player.end - player.start || 1;
  byId("ticks").replaceChildren(...rows.map(({ t, what }) => {
    const mark = make("i", { title: `${t.toFixed(3)} s: ${what}` });
    const part = (t - player.start) / length;
    mark.style.left = `calc(${(100 * part).toFixed(3)}% + ${((0.5 - part) * THUMB).toFixed(2)}px)`;
    return mark;
  }));
  return { rows, buttons };
}

/** Marks the last event that has happened. */
export function markEvents({ rows, buttons }, t) {
  const last = rows.filter((row) => row.t <= t + 1e-9).length - 1;
  buttons.forEach((button, k) => button.toggleAttribute("data-now", k === last));
}
