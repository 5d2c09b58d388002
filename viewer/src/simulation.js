// An arm's equations and integrator, as WebAssembly in a memory of their own.

const PAGE = 65536; // [bytes] of WebAssembly's memory
const SLICE = 1 / 120; // [s] after which a pull is measured anew
const BLOCK = 400; // steps between two looks at the clock

// Unpacks what `flexarm.viewer.live.page` has packed.
async function bytesOf(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(unpacked).arrayBuffer());
}

/** Compiles an arm's module and puts its memory in order. */
export async function makeSimulation(given) {
  const image = await bytesOf(given.image);
  const memory = new WebAssembly.Memory({ initial: Math.ceil(given.size / PAGE) });
  const env = {
    __linear_memory: memory,
    __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, given.top),
    __indirect_function_table: new WebAssembly.Table({ initial: 1, element: "anyfunc" }),
  };
  const { instance } = await WebAssembly.instantiate(await bytesOf(given.code), { env });
  const simulation = {
    given, image, exports: instance.exports, pull: null, spent: 0,
    bytes: new Uint8Array(memory.buffer),
    numbers: new Float64Array(memory.buffer),
    counts: new BigInt64Array(memory.buffer),
    inputs: new Map(), // what sliders have set, by array: kept when the arm starts anew
    views: new Map(), // arrays by their names
  };
  restart(simulation);
  return simulation;
}

/** Starts anew: the arm as its file has it, the settings and inputs as they are. */
export function restart(simulation) {
  const { bytes, image, given, inputs } = simulation;
  bytes.set(image, given.top);
  for (const [name, values] of inputs) array(simulation, name).set(values);
  simulation.pull = null;
  prepare(simulation);
}

/** An array of the module by its name, as it is now. */
export function array({ numbers, given, views }, name, size = given.sizes[name]) {
  const at = given.arrays[name] / 8;
  if (!views.has(name)) views.set(name, numbers.subarray(at, at + size));
  return views.get(name);
}

/** Sets an input of the equations. */
export function setInput(simulation, name, values) {
  simulation.inputs.set(name, Float64Array.from(values));
  array(simulation, name).set(values);
  if (name === "settings") prepare(simulation);
}

/** The state: coordinates, rates, works. */
export const stateOf = (simulation) => array(simulation, "y", 2 * simulation.given.n + 4);

export const timeOf = ({ numbers, given }) => numbers[given.slots.t / 8];

export const stepsOf = ({ counts, given }) => Number(counts[given.slots.steps / 8]);

function call({ exports, given }, name) {
  exports[given.entries[name]](...given.calls[name]);
}

// What follows from the settings alone: constants of the equations, and the largest stable step.
function prepare(simulation) {
  const { numbers, given } = simulation;
  call(simulation, "prepare");
  const [, payload, stiffness] = array(simulation, "settings");
  const bounds = payload < given.payload ? given.unladen : given.laden;
  const decay = stiffness < 1 ? bounds.soft_decay : bounds.decay;
  const fastest = Math.max(Math.sqrt(bounds.square * Math.max(stiffness, 1)), decay);
  numbers[given.slots.h / 8] = Math.min(given.longest, given.reach / fastest);
}

function takeState(simulation) {
  const { n } = simulation.given;
  const y = stateOf(simulation);
  array(simulation, "q").set(y.subarray(0, n));
  array(simulation, "v").set(y.subarray(n, 2 * n));
}

/** Energies [J], the tip [m] and what poses the drawn arm, at the state now. */
export function observe(simulation) {
  takeState(simulation);
  call(simulation, "observe");
  return {
    energy: array(simulation, "energy"),
    tip: array(simulation, "tip"),
    drawn: array(simulation, "drawn"),
  };
}

/** Where the held point is; what holds it is measured from there. */
export function holdPoint(simulation) {
  const { given, pull } = simulation;
  const grip = array(simulation, "grip");
  if (!pull) {
    grip.fill(0);
    return null;
  }
  array(simulation, "weights").set(pull.weights);
  takeState(simulation);
  call(simulation, "hold");
  const J = array(simulation, "J");
  const p = array(simulation, "p");
  const [firm, drag] = given.grip;
  const { n } = given;
  const q = stateOf(simulation);
  grip.set(J);
  for (let i = 0; i < 3; i++) {
    let at = 0;
    for (let k = 0; k < n; k++) at += J[i * n + k] * q[k];
    grip[3 * n + i] = firm * (pull.target[i] - p[i] + at);
  }
  grip[3 * n + 3] = firm;
  grip[3 * n + 4] = drag;
  return p;
}

// Measures attitudes anew from where they are, before their angles are singular.
function turn(simulation) {
  const { n } = simulation.given;
  takeState(simulation);
  call(simulation, "turn");
  const y = stateOf(simulation);
  y.set(array(simulation, "new_q"));
  y.set(array(simulation, "new_v"), n);
  array(simulation, "reference_attitude").set(array(simulation, "new_reference_attitude"));
}

/**
 * Steps on until a time, or as far as `patience` [ms] lets it; says what stopped the arm, if so. `changed`: whether
 * the state or its inputs may be others than those that it came to.
 */
export function advance(simulation, until, patience = Infinity, changed = true) {
  const { exports, given, counts } = simulation;
  const begun = performance.now();
  const { codes } = given;
  let why = codes.finished;
  while (timeOf(simulation) < until && performance.now() - begun < patience) {
    holdPoint(simulation);
    const stop = simulation.pull ? Math.min(until, timeOf(simulation) + SLICE) : until;
    const anew = changed || simulation.pull !== null;
    why = Number(exports[given.entries.advance](given.record, stop, BigInt(BLOCK), BigInt(anew)));
    changed = why === codes.limit_reached;
    if (changed) {
      const limit = Number(counts[given.slots.limit_reached / 8]);
      if (given.state_limits[limit]) return given.state_limits[limit];
      turn(simulation);
    } else if (why !== codes.finished && why !== codes.running) {
      return given.broken;
    }
  }
  simulation.spent += performance.now() - begun;
  return "";
}
