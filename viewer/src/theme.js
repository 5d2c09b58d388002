// Light and dark: the page's style has the colours, canvases ask for them here.

const NAMES = [
  "link", "hardware", "payload", "stand", "other", "ghost", "mark", "grid", "ink", "soft", "line", "surface",
];

/** Reads the colours of the theme that the page has now. */
export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const theme = Object.fromEntries(
    NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
  theme.dark = isDark();
  // Of runs compared: the first two have colours of their own.
  theme.runs = [theme.link, theme.other, ...[2, 3, 4, 6, 5, 7].map((k) => style.getPropertyValue(`--curve${k}`).trim())];
  theme.curves = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => style.getPropertyValue(`--curve${k}`).trim());
  return theme;
}

const wish = window.matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : wish.matches;
}

/** Changes from light to dark or back. */
export function flipTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
}

/** Calls back when the system's choice changes. */
export const onThemeWish = (callback) => wish.addEventListener("change", callback);
