// Curves over time, drawn by as few lines as look like them.

const WIDTH = 1.6; // [px]
const SAME = 1e-9; // [dots]
const STRAIGHT = 0.2; // [dots]: what is no further from a line is on it

/** Draws the curves of a uPlot that are shown; `styles` has the colour and dashes of each, `ratio` the dots per pixel. */
export function drawCurves(u, ratio, styles) {
  const { ctx, bbox, series } = u;
  const width = WIDTH * ratio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - width / 2, bbox.top - width / 2, bbox.width + width, bbox.height + width);
  ctx.clip();
  ctx.lineWidth = width;
  ctx.lineJoin = "round";
  styles.forEach(({ stroke, dash }, i) => {
    if (!series[i + 1].show) return;
    ctx.strokeStyle = stroke;
    ctx.setLineDash(dash ?? []);
    ctx.beginPath();
    traceCurve(u, i + 1, ctx);
    ctx.stroke();
  });
  ctx.restore();
}

/**
 * Traces a curve of a uPlot.
 *
 * From the last corner, `low` and `high` are the slopes of the lines that pass all points since by no more than
 * a part of a dot. The point before one that is beyond them is the next corner.
 */
export function traceCurve({ data, scales, bbox, series }, row, path) {
  const [times, values] = [data[0], data[row]];
  const { x, y } = scales;
  const wide = bbox.width / (x.max - x.min);
  const tall = bbox.height / (y.max - y.min);
  const [first, last] = around(values, ...series[0].idxs);
  let [begun, low, high, x0, y0, px, py] = [false, -Infinity, Infinity, 0, 0, 0, 0];
  for (let i = first; i <= last; i++) {
    const value = values[i];
    if (value === null || value === undefined) continue; // another run has a sample here
    const qx = bbox.left + (times[i] - x.min) * wide;
    const qy = bbox.top + (y.max - value) * tall;
    if (!begun) {
      path.moveTo(qx, qy);
      [begun, x0, y0] = [true, qx, qy];
    } else {
      let along = Math.max(qx - x0, SAME);
      if (qy < y0 + low * along || qy > y0 + high * along) {
        path.lineTo(px, py);
        [low, high, x0, y0] = [-Infinity, Infinity, px, py];
        along = Math.max(qx - x0, SAME);
      }
      low = Math.max(low, (qy - STRAIGHT - y0) / along);
      high = Math.min(high, (qy + STRAIGHT - y0) / along);
    }
    px = qx;
    py = qy;
  }
  if (begun) path.lineTo(px, py);
}

// What is seen, and a value beyond it on either side.
function around(values, first, last) {
  const none = (i) => values[i] === null || values[i] === undefined;
  first = Math.max(first - 1, 0);
  last = Math.min(last + 1, values.length - 1);
  while (first > 0 && none(first)) first--;
  while (last < values.length - 1 && none(last)) last++;
  return [first, last];
}
