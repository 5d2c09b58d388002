// What the page says above the arm: whose run it is, how it was made, what is wrong with it.
import { byId } from "./dom.js";

/** Writes the heading of a page's data. */
export function sayHeading(data) {
  document.body.dataset.kind = data.kind;
  byId("title").textContent = data.title;
  byId("facts").textContent = data.facts;
  sayWarning(data.warning ?? "", data.running && data.live);
  byId("notes").hidden = !data.notes;
  byId("notes").querySelector("div").textContent = data.notes ?? "";
}

/** Writes a warning, or takes it away; what is calm is only written, and not read aloud. */
export function sayWarning(text, calm = false) {
  const place = byId("warning");
  place.setAttribute("role", calm ? "note" : "alert");
  place.classList.toggle("calm", Boolean(calm));
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}
