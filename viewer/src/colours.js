// Colours of links: by what happens along them, or plain.
import { Color, SRGBColorSpace } from "three";

const STOPS = [
  "#5f86e0", "#4f9ed6", "#45b3bd", "#51c294", "#93cd5e", "#d9cb45", "#f3a63b", "#ec6b34", "#cc2b2e",
];
const STEPS = 256;

/** What links can be coloured by. */
export const FIELDS = {
  plain: { title: "Plain", unit: "" },
  deflection: { title: "Deflection", unit: "m" },
  curvature: { title: "Curvature", unit: "1/m" },
  moment: { title: "Bending moment", unit: "N m" },
  strain: { title: "Strain", unit: "1" },
};

const table = makeTable();

function makeTable() {
  const colours = STOPS.map((stop) => new Color().setStyle(stop, SRGBColorSpace));
  const values = new Float32Array(3 * STEPS);
  for (let k = 0; k < STEPS; k++) {
    const x = (k / (STEPS - 1)) * (STOPS.length - 1);
    const i = Math.min(Math.floor(x), STOPS.length - 2);
    colours[i].clone().lerp(colours[i + 1], x - i).toArray(values, 3 * k);
  }
  return values;
}

/** The scale of colours as a CSS gradient, smallest first. */
export const gradient = (direction) => `linear-gradient(${direction}, ${STOPS.join(", ")})`;

/** Fills red, green and blue per section from values; where there is no value, with `plain`. */
export function paintField(values, largest, plain, out) {
  for (let s = 0; s < values.length; s++) {
    const x = largest > 0 ? values[s] / largest : 0;
    if (Number.isNaN(x)) {
      plain.toArray(out, 3 * s);
      continue;
    }
    const k = 3 * Math.round(Math.min(Math.max(x, 0), 1) * (STEPS - 1));
    out[3 * s] = table[k];
    out[3 * s + 1] = table[k + 1];
    out[3 * s + 2] = table[k + 2];
  }
}

/** Writes a number in a unit that suits its size. */
export function say(value, unit) {
  if (unit === "m" && value !== 0) {
    const [factor, name] = [[1, "m"], [1e3, "mm"], [1e6, "µm"]].find(
      ([f]) => Math.abs(value) * f >= 0.5,
    ) ?? [1e6, "µm"];
    return `${digits(value * factor)} ${name}`;
  }
  if (unit === "1") return Math.abs(value) >= 0.1 || value === 0 ? digits(value) : `${digits(value * 1e6)} µε`;
  return unit ? `${digits(value)} ${unit}` : digits(value);
}

/** Writes a number with three digits or so. */
export function digits(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2).replaceAll("-", "−");
  const text = size >= 1000 ? value.toFixed(0) : value.toPrecision(3);
  return (Number(text) === 0 ? "0" : String(text)).replace("-", "−");
}
