"""Arms of two reduced bodies against every unknown of their meshes, in any posture."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import flexarm
from flexarm.arm import Arm
from flexarm.arm.side_files import SideFiles
from flexarm.links.imported.file import write_body
from tests.physics.solid_arms import Array, Assembled, Solid, assembled, bent_bar, rigid, turn_about

PAYLOAD = 0.5
TURNS = {"x": turn_about(0, 0.7), "y": turn_about(1, 0.7), "z": turn_about(2, 0.7)}
MOST = 2e-3  # of a frequency
STATIC = 5e-5  # of the largest displacement, or rotation
MODES = 8
LONG = pytest.mark.campaign


@cache
def solids() -> tuple[Solid, Solid]:
    """Mesh a stiff bar and a bent one."""
    return bent_bar((7, 1, 1), (0.7, 0.05, 0.04), 0.0), bent_bar((7, 1, 1), (0.5, 0.02, 0.03), 0.12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reduce both to 14 coordinates."""
    where = tmp_path_factory.mktemp("solids")
    for name, each in zip("ab", solids(), strict=True):
        body = flexarm.reduce(
            each.stiffness, each.mass, each.nodes, hub=each.hub, tip=each.tip, modes=MODES
        )
        write_body(where / f"{name}.npz", body)
    return where


def arm_of(folder: Path, turn: str, *, hinge: bool = False, force: Array | None = None) -> Arm:
    about = [0.7 * (turn == axis) for axis in "xyz"]
    joint: dict[str, Any] = {"kind": "fixed", "before": {"rotation": about}}
    if hinge:
        joint |= {"kind": "revolute", "axis": [0, 0, 1]}
    links = [{"joint": {"kind": "fixed"}}, {"joint": joint}]
    bodies = [{"body": {"kind": "modal", "file": f"{name}.npz"}} for name in "ab"]
    data: dict[str, Any] = {"flexarm": 1, "name": "solids", "payload": {"mass": PAYLOAD}}
    data["links"] = [{**link, **body} for link, body in zip(links, bodies, strict=True)]
    if force is not None:
        data["links"][1]["wrenches"] = [{"force": force.tolist(), "frame": "world"}]
    return Arm.model_validate(
        data | {"gravity": [0, 0, 0]}, context={"files": SideFiles.beside(folder)}
    )


def truth(turn: str, *, hinge: bool = False) -> Assembled:
    axis = np.array([0.0, 0.0, 1.0]) if hinge else None
    return assembled(list(solids()), [np.eye(3), TURNS[turn]], [None, axis], PAYLOAD)


def tips(q: Array, turn: str) -> Array:
    """Move both tips by small amplitudes (T, 28), in world axes, (T, 2, 6)."""
    R, place = TURNS[turn], solids()[1].place
    u, angle = q[:, :3], q[:, 3:6]
    start = 6 + MODES
    moved = u + np.cross(angle, R @ place) + q[:, start : start + 3] @ R.T
    turned = angle + q[:, start + 3 : start + 6] @ R.T
    return np.stack([q[:, :6], np.hstack([moved, turned])], axis=1)


@pytest.mark.parametrize(
    ("turn", "hinge"),
    [("y", True), *(pytest.param(*case, marks=LONG) for case in (("x", True), ("z", False)))],
)
def test_frequencies_of_any_posture_are_those_of_all_unknowns(
    folder: Path, turn: str, hinge: bool
) -> None:
    squares = truth(turn, hinge=hinge).modes(8 + hinge)[0]
    wanted = np.sqrt(np.sort(squares)[hinge:]) / (2 * np.pi)
    found = flexarm.modes(arm_of(folder, turn, hinge=hinge), joints="free").modes
    hertz = np.array([mode.frequency_hz for mode in found if mode.frequency_hz > 1e-2])[:8]
    assert np.abs(hertz / wanted - 1).max() < MOST


@pytest.mark.parametrize("turn", ["z", *(pytest.param(turn, marks=LONG) for turn in "xy")])
def test_deflections_of_any_posture_are_those_of_all_unknowns(folder: Path, turn: str) -> None:
    force = 1e-3 * np.array([0.5, -1.0, 0.7])
    whole = truth(turn)
    moved = whole.static(whole.tips[1][:3].T @ force)
    wanted = np.stack([tip @ moved for tip in whole.tips])
    model = flexarm.build(arm_of(folder, turn, force=force))
    found = tips(flexarm.equilibrium(model).point.q[None], turn)[0]
    for part in (slice(0, 3), slice(3, 6)):
        assert np.abs(found - wanted)[:, part].max() < STATIC * np.abs(wanted[:, part]).max()


def kept_motions(whole: Assembled, turn: str) -> Array:
    """Give the motions of all unknowns that the two bodies keep, reduced here, (n, 28)."""
    columns, before = [], 0
    inner, sizes = [], []
    for body in solids():
        ends = np.concatenate([body.hub, body.tip])
        rows = np.setdiff1d(np.arange(len(body.nodes)), ends)
        inner.append((3 * rows[:, None] + np.arange(3)).ravel())
        sizes.append(len(inner[-1]) + 6)
    both = np.kron(np.eye(2), TURNS[turn].T)
    for k, body in enumerate(solids()):
        K, M = body.stiffness, scipy.sparse.kron(body.mass, np.eye(3), format="csr")
        inside = K[inner[k]][:, inner[k]].toarray()
        tip = (3 * body.tip[:, None] + np.arange(3)).ravel()
        unit = rigid(body.nodes[body.tip] - body.place)
        static = -np.linalg.solve(inside, K[inner[k]][:, tip] @ unit)
        weights = M[inner[k]][:, inner[k]].toarray()
        modes = scipy.linalg.eigh(inside, weights, subset_by_index=[0, MODES - 1])[1]
        block = np.zeros((sum(sizes), 6 + MODES))
        here = slice(before, before + len(inner[k]))
        block[here] = np.hstack([static, modes])
        block[here.stop : before + sizes[k], :6] = np.eye(6)
        if k == 0:  # what it carries goes along
            nodes, place = solids()[1].nodes, solids()[1].place
            block[sizes[0] : -6, :6] = rigid(nodes)[inner[1]] @ both
            block[-6:-3, :6] = rigid(place[None]) @ both
            block[-3:, :6] = both[3:]
        columns.append(block)
        before += sizes[k]
    return np.hstack(columns)


@LONG
def test_a_transient_is_that_of_all_unknowns_but_for_motions_left_out(folder: Path) -> None:
    """Faults of 1e-6 would show in the first bound; the second is what 14 coordinates leave out."""
    force = 1e-3 * np.array([0.5, -1.0, 0.7])
    run = flexarm.simulate(
        arm_of(folder, "y", force=force), t_end=0.03, dt=5e-4, method="dop853", rtol=1e-8
    )
    found, whole = tips(run.q, "y"), truth("y")
    kept = whole.projected(kept_motions(whole, "y"))
    for system, modes, bounds in ((kept, 28, (1e-5, 1e-5)), (whole, 120, (1e-3, 2e-2))):
        moved = system.stepped(np.asarray(system.tips[1][:3].T @ force), run.t, modes)
        wanted = np.stack([moved @ tip.T for tip in system.tips], axis=1)
        for part, bound in zip((slice(0, 3), slice(3, 6)), bounds, strict=True):
            off = np.abs(found - wanted)[:, :, part].max(axis=(0, 2))
            assert np.all(off < bound * np.ptp(wanted[:, :, part], axis=0).max(axis=1))
