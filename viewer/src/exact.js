// Sections of a link that bends exactly: its angles are sums of slope shapes.
//
// Along y and z the slopes come to the angles a and b, the twist to f: a section turns by
// R0(a, b) Rx(f), R0 the smallest rotation onto its tangent t.  Tangents (1 + stretch) t, and jumps
// along t where rigid pieces part, are taken at a few nodes; where a section is, each of them counts by
// how far it reaches.  Shapes of a sliding link are functions of xi = x/l, with l as the unit of length.

/** Sums a row of a table, times amplitudes and a factor. */
export const sum = ({ values }, row, a, factor = 1) => {
  let total = 0;
  for (let i = 0, k = row * a.length; i < a.length; i++) total += values[k++] * a[i];
  return factor * total;
};

const sinc = (h) => (h ? Math.sin(h) / h : 1);
const size = (y, z) => Math.sqrt(y * y + z * z); // Math.hypot takes many times as long

/** Writes the tangents at a link's nodes, with amplitudes times a factor: x, y, z of each. */
export function tangents({ bend, stretch, straight }, a, factor, out) {
  const count = stretch.shape[0];
  for (let g = 0; g < count; g++) {
    const y = sum(bend, g, a, factor);
    const z = sum(bend, count + g, a, factor);
    const h = size(y, z);
    const long = straight.values[g] + sum(stretch, g, a, factor);
    const across = long * sinc(h);
    out[3 * g] = long * Math.cos(h);
    out[3 * g + 1] = across * y;
    out[3 * g + 2] = across * z;
  }
}

/** Places a section in the link's axes by the nodes' tangents, which reach in units of length. */
export function reached({ reach }, s, tangent, unitLength, out) {
  const [, stations, count] = reach.shape;
  const { values } = reach;
  for (let k = 0; k < 3; k++) {
    let total = 0;
    for (let g = 0, row = (k * stations + s) * count; g < count; g++) {
      total += values[row + g] * tangent[3 * g + k];
    }
    out[k] = total * unitLength;
  }
}

/** Turns a section, with amplitudes times a factor. */
export function turnExactly({ turned }, s, a, factor, unitLength, out) {
  const f = sum(turned, 3 * s, a, factor);
  const z = -sum(turned, 3 * s + 1, a, factor / unitLength);
  const y = sum(turned, 3 * s + 2, a, factor / unitLength);
  const h = size(y, z);
  const S = sinc(h);
  const T = sinc(h / 2) ** 2 / 2;
  const c = Math.cos(f);
  const d = Math.sin(f);
  putRow(out, 0, c, d, Math.cos(h), -y * S, -z * S);
  putRow(out, 3, c, d, y * S, 1 - y * y * T, -y * z * T);
  putRow(out, 6, c, d, z * S, -y * z * T, 1 - z * z * T);
}

function putRow(out, i, c, d, first, second, third) {
  out[i] = first;
  out[i + 1] = c * second + d * third;
  out[i + 2] = c * third - d * second;
}

/** Curvatures along a section's y and z: its angles' rates along the link, what bending out of a plane
 * adds to them, turned by the twist. */
export function curvatures({ turned, bend }, s, a, unitLength) {
  const f = sum(turned, 3 * s, a);
  const z = -sum(turned, 3 * s + 1, a, 1 / unitLength);
  const y = sum(turned, 3 * s + 2, a, 1 / unitLength);
  const [dy, dz] = [0, 1].map((k) => sum(bend, 2 * s + k, a, 1 / unitLength ** 2));
  const out = lack(y * y + z * z) * (y * dz - z * dy);
  const [ky, kz] = [dy + out * z, dz - out * y];
  const [c, d] = [Math.cos(f), Math.sin(f)];
  return [c * ky + d * kz, c * kz - d * ky];
}

// (1 - sin h/h)/h^2 by its square, where it is small by a series.
function lack(x) {
  if (x > 0.01) return (1 - sinc(Math.sqrt(x))) / x;
  return 1 / 6 - x * (1 / 120 - x * (1 / 5040 - x / 362880));
}
