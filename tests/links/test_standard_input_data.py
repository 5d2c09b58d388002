"""Standard input data (SID) and universal files: what they say comes out, wrong ones are told."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import flexarm
from flexarm.cli import main
from flexarm.errors import ModelError
from flexarm.links.imported.file import Choices, import_body, read_body
from tests.links.reduced_bodies import arm_with, clamped, craig_bampton

Array = NDArray[np.float64]


def tilde(a: Array) -> Array:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def taylor(name: str, m0: Array, m1: Array | None = None, structure: int = 3) -> list[str]:
    """Write a block: m0 (r, c), m1 (r, q, c)."""
    lines = [
        name,
        f"order = {int(m1 is not None)}",
        f"nrow = {m0.shape[0]}",
        f"ncol = {m0.shape[1]}",
    ]
    lines += [f"nq = {0 if m1 is None else m1.shape[1]}", "nqn = 0", f"structure = {structure}"]
    lines += [f"m0 ( {r + 1}, {c + 1}) = {v:.17E}".replace("E", "D")
              for (r, c), v in np.ndenumerate(m0) if structure != 2 or r <= c]  # fmt: skip
    if m1 is not None:
        lines += [
            f"m1 ( {r + 1}, {q + 1}, {c + 1}) = {v:.17E}" for (r, q, c), v in np.ndenumerate(m1)
        ]
    return [*lines, f"end {name}"]


def standard(body: dict[str, Any], field: Array, tip: Array, *, gr: bool = True) -> str:
    """Write a body with displacements of second order (N, 3, m, m) by sums over its nodes."""
    X, mass, phi = body["nodes"], body["node_mass"], body["shapes"]
    m = len(phi)
    weigh = list(zip(mass, X, phi.transpose(1, 0, 2), field, strict=True))  # m, r, (m, 3), X
    C4 = sum(w * np.array([tilde(r) @ tilde(p[k]) for k in range(m)]) for w, r, p, _ in weigh)
    C6 = sum(w * np.array([[tilde(p[k]) @ tilde(p[j]) for j in range(m)] for k in range(m)])
             for w, _, p, _ in weigh)  # fmt: skip
    Ct, Ct1 = (
        mass @ phi.transpose(1, 0, 2).reshape(len(mass), -1),
        sum(w * x for w, _, _, x in weigh),
    )
    Cr = sum(w * np.cross(r, p) for w, r, p, _ in weigh)
    Kr = sum(w * np.array([[np.cross(p[i], p[j]) for i in range(m)] for j in range(m)])
             for w, _, p, _ in weigh)  # fmt: skip  # [j, i, axis]
    turning = sum(w * np.cross(r, x.transpose(1, 2, 0)) for w, r, _, x in weigh)
    products = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
    Oe, Oe1 = np.zeros((m, 6)), np.zeros((m, m, 6))
    for k, (a, b) in enumerate(products):
        square = np.zeros((3, 3))
        square[a, b] = square[b, a] = 1.0
        square = np.diag(np.diag(square)) - np.eye(3) if a == b else square
        Oe[:, k] = sum(w * p @ square @ r for w, r, p, _ in weigh)
        Oe1[:, :, k] = sum(w * (p @ square @ p.T + np.einsum("aij,a->ij", x, square @ r))
                           for w, r, p, x in weigh)  # fmt: skip
    second = sum(w * (r @ r * np.eye(3) - np.outer(r, r)) for w, r, _, _ in weigh)
    flat = phi.reshape(m, -1)
    Me = flat @ (np.repeat(mass, 3) * flat).T
    lines = [f"1 {m} Geo_Stiff= yes", "part", "new modal", "refmod", f"mass = {mass.sum():.17g}",
             f"nelastq = {m}", "ielastq ( 1) = Eigen Mode 1 : 10 Hz", "end refmod", "frame",
             "new node = 7", "rframe = body ref"]  # fmt: skip
    tips = body["tip_shapes"].T
    lines += taylor("origin", body["tip_position"][:, None], tips[:3, :, None])
    for name, rows in (("phi", slice(0, 3)), ("psi", slice(3, 6))):
        lines += taylor(name, tips[rows], tip[rows].transpose(0, 2, 1))
    lines += [*taylor("AP", body["tip_rotation"]), "end node", "end frame"]
    lines += taylor("mdCM", (mass @ X)[:, None], Ct.reshape(m, 3).T[:, :, None])
    lines += taylor("J", second, (-C4 - C4.transpose(0, 2, 1)).transpose(1, 0, 2), 2)
    lines += taylor("Ct", Ct.reshape(m, 3), Ct1.transpose(1, 2, 0))
    lines += taylor("Cr", Cr, Kr + turning)
    lines += taylor("Me", Me, None, 2)
    sixth = -2 * C6.transpose(2, 0, 1, 3).reshape(3, m, 3 * m)
    lines += taylor("Gr", -2 * C4.transpose(1, 0, 2).reshape(3, -1), sixth if gr else None)
    lines += taylor("Ge", 2 * Kr.reshape(m, -1))
    lines += [*taylor("Oe", Oe, Oe1), *taylor("ksigma", np.zeros((m, 1)))]
    lines += [*taylor("Ke", body["K"], None, 2), *taylor("De", np.zeros((0, 0)), None, 0)]
    return "\n".join([*lines, "end modal", "end part", ""])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Write the lattice as standard input data, with K_sigma and K_u in the plain form beside."""
    body = craig_bampton(1)
    folder, n = tmp_path_factory.mktemp("sid"), len(body["nodes"])
    generator = np.random.default_rng(4)
    field = generator.normal(size=(n, 3, 7, 7)) * np.linspace(0, 1, n)[:, None, None, None]
    tip = generator.normal(size=(6, 7, 7))
    field, tip = field + field.swapaxes(2, 3), tip + tip.swapaxes(1, 2)
    (folder / "lattice.SID_FEM").write_text(standard(body, field, tip))
    (folder / "short.SID_FEM").write_text(standard(body, 0 * field, 0 * tip, gr=False))
    from tests.physics.test_stiffened_bodies import unit_loads

    loads = unit_loads(body["nodes"], body["node_mass"], np.zeros((6, 3 * n)))
    total = -np.einsum("lna,naij->lij", loads.reshape(18, n, 3), field)
    total[12:] = -tip
    return folder, body | {"K_sigma": 0 * total, "K_u": total}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["lattice", "short"])
def test_standard_input_data_make_the_same_body(
    written: tuple[Path, dict[str, Any]], name: str, tmp_path: Path
) -> None:
    folder, body = written
    known = body if name == "lattice" else {k: v for k, v in body.items() if k[:2] != "K_"}
    out = tmp_path / "out.npz"
    main(["import-body", str(folder / f"{name}.SID_FEM"), "--out", str(out)])
    read_body(out)
    models = [arm_with(tmp_path, known), arm_with(tmp_path, dict(np.load(out)))]
    q = np.array([0.3, *np.full(7, 0.01)])
    v, eqs = 10 * q[::-1], [flexarm.formulation("composite", flexarm.build(arm)) for arm in models]
    for one, two in ([eq.mass_matrix(q) for eq in eqs], [eq.bias(q, v) for eq in eqs]):
        assert np.abs(one - two).max() < 1e-9 * np.abs(one).max()


def _swapped(text: str) -> str:
    """Exchange two products of velocities in Oe, as some programs do."""
    before, _, after = text.rpartition("\nOe\n")
    return before + "\nOe\n" + re.sub(
        r", ([56])\) =", lambda found: f", {11 - int(found[1])}) =", after
    )  # fmt: skip


def _odd_pair(text: str) -> str:
    """Let one product of shapes in Gr be huge."""
    before, _, after = text.partition("\nGr\n")
    changed = re.sub(r"(m1 \( 3, 1, 15\) = )\S+", r"\g<1>1D+14", after, count=1)
    return f"{before}\nGr\n{changed}"


MISTAKES: dict[str, tuple[Any, str]] = {
    "cut": (lambda t: t[: t.index("end Ct")], "Was it cut off"),
    "head": (lambda t: "SID\n" + t, "is not a SID file"),
    "nan": (lambda t: t.replace("= 1.0", "= nan", 1), "finite number"),
    "outside": (lambda t: t.replace("m0 ( 3, 1)", "m0 ( 9, 1)", 1), "is outside of"),
    "huge": (lambda t: t.replace("nrow = 3", "nrow = 999999999", 1), "more than 21 x 21"),
    "modes": (lambda t: t.replace("nelastq = 7", "nelastq = 8"), "in the head"),
    "strange": (lambda t: t.replace("nqn = 0", "import os", 1), "is not an entry of"),
    "mass": (lambda t: t.replace("mass = ", "mass = -"), "must be > 0"),
    "missing": (lambda t: t.replace("Oe\n", "Ox\n"), "is not part of a SID"),
    "spins": (_swapped, "off what Gr says"),
    "pairs": (_odd_pair, "off being symmetric in the amplitudes"),
    "many": (lambda t: t.replace("1 7 Geo", "1 700 Geo"), "1 to 100 amplitudes"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_wrong_standard_input_data_are_refused(
    written: tuple[Path, dict[str, Any]], mistake: str, tmp_path: Path
) -> None:
    change, words = MISTAKES[mistake]
    path = tmp_path / "wrong.sid"
    text = (written[0] / "lattice.SID_FEM").read_text()
    assert change(text) != text
    path.write_text(change(text))
    try:
        report, body = import_body([path], Choices())
        told = "" if body is not None else " ".join(report.errors)
    except ModelError as error:
        told = str(error)
    assert words in told


def test_nodes_of_interfaces_are_asked_for(written: tuple[Path, dict[str, Any]]) -> None:
    path = written[0] / "lattice.SID_FEM"
    for choice, words in ((Choices(tip_node=3), "got 3"), (Choices(hub_node=7), "node 7 moves")):
        report, body = import_body([path], choice)
        assert body is None
        assert words in " ".join(report.errors)


def universal(path: Path, body: dict[str, Any]) -> None:
    """Write modes as a modal test does."""
    pyuff = pytest.importorskip("pyuff")
    count = len(body["nodes"])
    numbers = 10 * np.arange(1, count + 1)
    file = pyuff.UFF(str(path))
    x, y, z = body["nodes"].T
    file.write_sets(
        pyuff.prepare_15(numbers, 0 * numbers, 0 * numbers, 0 * numbers, x, y, z), "add"
    )
    flat = body["shapes"].reshape(len(body["shapes"]), -1)
    modal = np.einsum("ja,a,ja->j", flat, np.repeat(body["node_mass"], 3), flat)
    for shape, hertz, own in zip(body["shapes"], body["frequencies"], modal, strict=True):
        file.write_sets(pyuff.prepare_55(
            model_type=1, id1="mode", analysis_type=2, data_ch=2, spec_data_type=8, data_type=2,
            r1=shape[:, 0], r2=shape[:, 1], r3=shape[:, 2], n_data_per_node=3,
            node_nums=numbers, load_case=1, mode_n=1, modal_m=own, freq=hertz,
            modal_damp_vis=0.005, modal_damp_his=0.0, id2="NONE", id3="NONE", id4="NONE",
            id5="NONE"), "add")  # fmt: skip


def test_a_modal_test_makes_a_body(tmp_path: Path) -> None:
    body = clamped(4)
    universal(tmp_path / "test.unv", body)
    nodes, mass = body["nodes"], body["node_mass"]
    about = sum(w * (r @ r * np.eye(3) - np.outer(r, r)) for w, r in zip(mass, nodes, strict=True))
    frames = {
        "total_mass": mass.sum(), "centre": (mass @ nodes / mass.sum()).tolist(),
        "inertia_about_origin": about.tolist(), "hub_nodes": [10, 20, 30, 40],
        "tip_nodes": [170, 180, 190, 200],
        "tip": {"position": body["tip_position"].tolist()},
    }  # fmt: skip
    (tmp_path / "frames.json").write_text(json.dumps(frames))
    report, found = import_body([tmp_path / "test.unv"], Choices(frames=tmp_path / "frames.json"))
    assert found is not None, report.errors
    true = read_body(_saved(tmp_path, body))
    assert np.allclose(found.integrals.modal_mass, true.integrals.modal_mass, rtol=1e-3, atol=1e-4)
    own, expected = (each.integrals.inertia.second for each in (found, true))
    assert np.allclose(own, expected, rtol=1e-3, atol=1e-6)
    hertz = np.sqrt(np.diag(found.integrals.stiffness) / np.diag(found.integrals.modal_mass))
    assert np.allclose(hertz / (2 * np.pi), body["frequencies"], rtol=1e-4)
    with pytest.raises(ModelError, match=r"has no masses. Give total_mass"):
        import_body([tmp_path / "test.unv"], Choices())
    for wrong in (b"", b"    -1\n    55\n 1", (tmp_path / "test.unv").read_bytes()[:900]):
        (tmp_path / "cut.unv").write_bytes(wrong)
        with pytest.raises(ModelError, match=r"cut.unv: (is not a complete|has no|nodes|a mode)"):
            import_body([tmp_path / "cut.unv"], Choices(frames=tmp_path / "frames.json"))


def _saved(folder: Path, body: dict[str, Any]) -> Path:
    np.savez(folder / "true.npz", **body)
    return folder / "true.npz"
