// Small helpers over the page. Text always goes in as text.

/** Finds an element by its id. */
export const byId = (id) => document.getElementById(id);

/** Makes an element with attributes and children; strings become text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children);
  return element;
}

/** Makes the name that a user gave to something: kept apart from the text around it. */
export const named = (text) => make("bdi", {}, text);

/** Writes a text into an element that has nothing else in it, if it is another. */
export function write(element, text) {
  if (!element.firstChild) element.append("");
  const { firstChild } = element;
  if (firstChild.data !== text) firstChild.data = text; // the same node: little is laid out anew
}
