"""A live arm's WebAssembly in Node: the motion is that of Python's rk4 in the same steps."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.viewer.live.equations import LiveArm
from flexarm.viewer.live.module import LiveModule, live_module, live_task, tuning
from tests.engine.in_node import run_in_node

RUN = """
import fs from 'fs';
const given = JSON.parse(fs.readFileSync(0));
const bytes = (text) => Buffer.from(text, 'base64');
const image = bytes(given.image);
const memory = new WebAssembly.Memory({initial: Math.ceil(image.length/65536)});
const top = new WebAssembly.Global({value: 'i32', mutable: true}, given.top);
const table = new WebAssembly.Table({initial: 1, element: 'anyfunc'});
const env = {__linear_memory: memory, __stack_pointer: top, __indirect_function_table: table};
const code = new WebAssembly.Module(bytes(given.code));
const arm = new WebAssembly.Instance(code, {env}).exports;
new Uint8Array(memory.buffer).set(image.subarray(given.top), given.top);
const numbers = new Float64Array(memory.buffer);
const array = (name) => given.arrays[name]/8;
for (const [name, values] of Object.entries(given.inputs)) numbers.set(values, array(name));
const call = (name) => arm[given.entries[name]](...given.calls[name]);
const copy = (from, to, size) => numbers.copyWithin(to, from, from + size);
const turn = () => {
  const [y, n, reference_attitude] = [array('y'), given.n, array('reference_attitude')];
  copy(y, array('q'), n);
  copy(y + n, array('v'), n);
  call('turn');
  copy(array('new_q'), y, n);
  copy(array('new_v'), y + n, n);
  copy(array('new_reference_attitude'), reference_attitude, given.reference_attitudes);
};
call('prepare');
const states = [];
let changed = 1n;
for (const t of given.times) {
  const go = () => Number(arm[given.entries.advance](given.record, t, 1000000n, changed));
  let why = go();
  for (; why === given.watched; why = go()) {
    changed = 1n;
    turn();
  }
  changed = 0n;
  if (why !== given.finished) throw new Error(`stopped at ${t} s: ${why}`);
  states.push(Array.from(numbers.subarray(array('y'), array('y') + 2*given.n)));
}
call('observe');
const energy = Array.from(numbers.subarray(array('energy'), array('energy') + 3));
const imports = WebAssembly.Module.imports(code).map(each => each.kind);
console.log(JSON.stringify({states, energy, imports}));
"""


def in_node(
    arm: LiveArm, made: LiveModule, times: np.ndarray, folder: Path, **inputs: np.ndarray
) -> dict[str, Any]:
    """Run an arm until the times, with inputs of its equations."""
    from flexarm.integrate.loop import FINISHED, LIMIT_REACHED

    given = {
        "code": b64encode(made.program.code).decode(),
        "image": b64encode(made.memory.image()).decode(),
        "top": made.program.reserved,
        "entries": made.program.entries,
        "arrays": made.arrays,
        "calls": made.calls,
        "record": made.record,
        "inputs": {name: np.ravel(values).tolist() for name, values in inputs.items()},
        "n": arm.model.size,
        "reference_attitudes": arm.model.start_references.size,
        "times": times.tolist(),
        "finished": FINISHED,
        "watched": LIMIT_REACHED,
    }
    return run_in_node(RUN, given, folder)


def live(arm: Arm, step: float) -> tuple[LiveArm, LiveModule]:
    """Compile an arm."""
    made = LiveArm(flexarm.build(arm))
    return made, live_module(made, live_task(made), step)


def servo_law(arm: LiveArm, servo: np.ndarray) -> ca.Function:
    """Write the servos of all joints as a control law."""
    n = arm.model.size
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", n), ca.SX.sym("v", n)
    rows = ca.DM(arm.rows)
    target, gain, drag = (ca.DM(column) for column in servo.T)
    u = gain * (target - rows @ q) - drag * (rows @ v)
    return ca.Function("servo", [t, q, v], [u])


@pytest.mark.campaign
def test_24_coordinates_held_by_servos_move_as_in_python(tmp_path: Path) -> None:
    sample = flexarm.example_arm("count-6-6-3")
    arm = LiveArm(flexarm.build(sample))
    task = live_task(arm)
    tuned = tuning(arm, task)
    servo, step = tuned.servo + np.array([0.3, 0.0, 0.0]), tuned.step
    made = live_module(arm, task, step)
    assert arm.model.size == 24
    law = servo_law(arm, servo)
    run = flexarm.simulate(sample, t_end=10.0, method="rk4", step=step, control=law)
    found = in_node(arm, made, run.t[1:], tmp_path, servo=servo)
    expected = np.hstack([run.q, run.v])[1:]
    assert np.abs(np.array(found["states"]) - expected).max() < 1e-12 * np.abs(expected).max()
    assert "function" not in found["imports"]
    assert len(made.program.code) < 200_000
    # a second of its time: a tenth of a core does 1.5e8 operations or more
    assert 4 * len(arm.motion()[1].operations) / step < 1.5e8


@pytest.mark.campaign
def test_attitudes_are_measured_anew_before_they_are_singular(tmp_path: Path) -> None:
    sample = flexarm.example_arm("crossed-joints")
    arm, made = live(sample, 1e-3)
    still = dict.fromkeys((axis.name for axis in arm.driven), 0.0)
    run = flexarm.simulate(sample, t_end=2.0, method="rk4", step=1e-3, inputs=still)
    found = in_node(arm, made, run.t[1:], tmp_path)
    changes = np.any(np.diff(run.reference_attitudes, axis=0), axis=(1, 2))
    assert changes.sum() > 1
    # at an instant at which attitudes are measured anew, the run has them as they were before
    same = ~np.append(changes[1:], False)
    expected = np.hstack([run.q, run.v])[1:][same]
    states = np.array(found["states"])[same]
    assert np.abs(states - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.campaign
def test_servos_of_the_file_and_their_timed_targets_are_played(tmp_path: Path) -> None:
    sample = flexarm.example_arm("carriage-on-rail")
    later = {"at": 0.3, "servo": {"joint2": {"target": {"kind": "constant", "value": 0.5}}}}
    ended = {"name": "halt", "when": {"quantity": "joint2", "above": 9.0}, "end": True}
    sample = Arm.model_validate(sample.model_dump(exclude_unset=True) | {"events": [later, ended]})
    arm, made = live(sample, 1e-3)
    assert arm.programme.left_out == "not played: 'halt'"
    run = flexarm.simulate(sample, t_end=0.6, method="rk4", step=1e-3)
    found = in_node(arm, made, run.t[1:], tmp_path, play=np.ones(1))
    expected = np.hstack([run.q, run.v])[1:]
    assert np.abs(np.array(found["states"]) - expected).max() < 1e-12 * np.abs(expected).max()
    free = in_node(arm, made, run.t[-1:], tmp_path)  # nothing plays: the carriage stays about
    assert abs(free["states"][0][3] - 0.3) < 0.1 < abs(expected[-1, 3] - 0.3)
