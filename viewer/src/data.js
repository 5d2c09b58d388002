// Reads what the page carries: a JSON document with arrays in base64.

/** Reads data and puts each array where it is referred to, as `values`. */
export function readData(text) {
  const data = JSON.parse(text);
  const bytes = Uint8Array.from(atob(data.arrays), (c) => c.charCodeAt(0));
  const numbers = new Float32Array(bytes.buffer);
  resolve(data, numbers);
  return data;
}

function resolve(node, numbers) {
  if (node === null || typeof node !== "object") return;
  if ("at" in node && Array.isArray(node.shape)) {
    const size = node.shape.reduce((a, b) => a * b, 1);
    node.values = numbers.subarray(node.at, node.at + size);
    return;
  }
  for (const each of Object.values(node)) resolve(each, numbers);
}

/** Finds the sample at or before a time. */
export function sampleAt(times, t) {
  let low = 0;
  let high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle;
    else high = middle;
  }
  return times.length > 1 && times[high] <= t ? high : low;
}

/** Interpolates a run's state at a time; before its start and after its end it stands still. */
export function stateAt(motion, t, out) {
  const { values, shape } = motion.state;
  const [columns, samples] = shape;
  const times = motion.t.values;
  const i = sampleAt(times, t);
  const j = Math.min(i + 1, samples - 1);
  const width = times[j] - times[i];
  const part = width > 0 ? Math.min(Math.max((t - times[i]) / width, 0), 1) : 0;
  for (let k = 0; k < columns; k++) {
    const a = values[k * samples + i];
    out[k] = a + part * (values[k * samples + j] - a);
  }
  return out;
}
