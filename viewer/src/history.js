// The last seconds of curves, thinned to what can be seen: of a bin about as wide as a pixel, the least and the most
// of every curve, in the order in which they came, so that no vibration hides.

const BINS = 400;
const ROOM = 8 * BINS; // bins are narrower as long as there is less to be seen
const APART = 1e-9; // of what is kept: between values of one instant

/** Makes room for some curves. */
export function makeHistory(curves) {
  const column = () => new Float64Array(ROOM);
  return { t: column(), rows: Array.from({ length: curves }, column), first: 0, open: 0, size: 0 };
}

/** Keeps values of the curves at a time [s], and all that is no older than `span` [s]. */
export function keepValues(history, time, values, span) {
  const { t, rows } = history;
  if (history.size && time <= t[history.size - 1]) return;
  const anew = !history.size || time - t[history.open] > Math.min(span, time - t[history.first]) / BINS;
  if (anew && history.size) history.open += 2; // the last value becomes the first of the next bin
  if (history.open + 3 > ROOM) forget(history);
  const k = history.open;
  if (anew) t[k] = time - 2 * APART * span;
  t[k + 1] = time - APART * span;
  t[k + 2] = time;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    const x = values[i];
    if (anew) row[k] = row[k + 1] = x;
    const low = Math.min(row[k], row[k + 1]);
    const high = Math.max(row[k], row[k + 1]);
    if (x > high || x < low) {
      row[k] = x > high ? low : high;
      row[k + 1] = x;
    }
    row[k + 2] = x;
  }
  history.size = k + 3;
  while (t[history.first] < time - span) history.first += 1;
}

// Makes room by what is too old, and by a quarter at least: bins of slow motion are narrow.
function forget(history) {
  const by = Math.max(history.first, ROOM / 4);
  for (const row of [history.t, ...history.rows]) row.copyWithin(0, by);
  history.open -= by;
  history.first = Math.max(history.first - by, 0);
}

/** The times and curves that are kept. */
export const kept = ({ t, rows, first, size }) => ({
  t: t.subarray(first, size),
  rows: rows.map((row) => row.subarray(first, size)),
});
