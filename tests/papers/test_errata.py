"""Errata: the page is what the code says when it runs printed against right."""

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.formulations.gibbs_appell.chain import paper_chain, tilde
from flexarm.formulations.gibbs_appell.steps import compound_rotations, motions, rotations
from flexarm.io.model_file import example_arm
from flexarm.model import build
from flexarm_papers import PAPERS
from flexarm_papers.errata import errata, markdown, measured

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
RUN = [each for each in errata() if each.runs]


@pytest.mark.campaign
def test_the_page_is_made_by_running_every_misprint() -> None:
    assert PAGE.read_text("utf-8") == markdown()


@pytest.mark.parametrize("where", ["eq. 86", "step 9, U", "step 10, last block"])
def test_a_misprint_of_the_inertia_matrix_makes_it_wrong_by_a_tenth_or_more(where: str) -> None:
    (one,) = [each for each in errata("korayem-2009") if each.where == where]
    least = float(measured(one).partition("wrong by ")[2].split()[0])
    assert 8 < least < 100


def test_a_tip_that_is_not_drawn_in_does_not_stiffen_by_what_is_beyond() -> None:
    # potential -1/2 omega^2 int mu (x^2 + y^2) of link 1 in one mode and of link 2, straight beyond
    L, omega = 7.11, 10.0
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = (x + 1) / 2, w / 2
    b = 1.8751040687119611
    nu = (np.sin(b) - np.sinh(b)) / (np.cos(b) + np.cosh(b))
    tip = np.cos(b) - np.cosh(b) + nu * (np.sin(b) - np.sinh(b))

    def slope(e: np.ndarray) -> np.ndarray:
        a = b * e
        bent = -np.sin(a) - np.sinh(a) + nu * (np.cos(a) - np.cosh(a))
        return np.asarray(b * bent / tip / L)

    value = (np.cos(b * x) - np.cosh(b * x) + nu * (np.sin(b * x) - np.sinh(b * x))) / tip
    drawn = [L * e * w @ slope(e * x) ** 2 for e in (*x, 1.0)]
    s, xi = float(slope(np.ones(1))[0]), L * x
    own = w @ (xi * drawn[:-1] - value**2)
    across, along = w @ (1 + s * xi) ** 2, w @ ((L + xi) * (drawn[-1] + s**2 * xi))
    mass = w @ value**2 + across
    right, printed = (omega**2 * (own + y - across) / mass for y in (along, 0.0))
    (one,) = [each for each in errata("chen-2012") if each.where == "eqs. 2, 3"]
    assert f"changes by {right:.1f} 1/s^2, and by {printed:.1f} as printed" in measured(one)


@pytest.mark.parametrize("code", sorted({each.code for each in errata() if each.code}))
def test_what_is_right_is_marked_where_it_stands(code: str) -> None:
    package = Path(flexarm.__file__).parent
    folder = package.parent if code.startswith("flexarm_papers/") else package
    assert "erratum" in (folder / code).read_text("utf-8")


def test_every_paper_has_errata_that_run() -> None:
    assert {each.paper for each in RUN} == set(PAPERS)
    with pytest.raises(FlexarmError, match="there are korayem-2009"):
        errata("nobody")


def test_what_a_paper_says_that_it_approximates_is_no_error_of_it() -> None:
    stated = {(each.paper, each.where) for each in errata() if each.kind == "approximation"}
    assert stated == {
        ("korayem-2009", "step 1"),
        ("graves-1989", "eq. 5"), ("graves-1989", "eq. 25"), ("graves-1989", "nonlinear force"),
        ("chu", "eqs. 18, 25"), ("chen-2012", "eqs. 2, 3"), ("chen-2012", "eq. 13"),
    }  # fmt: skip


def test_eqs_67_and_69_of_korayem_add_up_to_the_recursion_of_eq_59() -> None:
    model = build(example_arm("count-3-2-2"), stiffening=False)
    q, v, a = map(ca.SX, 0.3 * np.random.default_rng(4).standard_normal((3, model.size)))
    links = paper_chain(model, q, v, delta_squared=True)
    R = rotations(links)
    omega, omega_d, r_dd = motions(links, R, v, a, ca.SX(3, 1))
    back = compound_rotations(R)[-1]
    for printed, exact in ((omega_d, True), (motions(links, R, v, None, ca.SX(3, 1))[1], False)):
        added = ca.SX(3, 1)
        for k, (link, w, w_d) in enumerate(zip(links[:-1], omega, printed, strict=False)):
            second = link.r_f @ ca.vertcat(*[a[x] for x in link.variables]) if link.variables else 0
            turned = tilde(w) @ (tilde(w) @ link.r + 2 * link.r_d)  # (eq. 69)
            added += back[k] @ (link.r_v + second + tilde(w_d) @ link.r + turned)  # (eq. 67)
        off = float(ca.norm_2(ca.DM(added - r_dd[-1])))
        assert (off < 1e-12) is exact  # with the whole omega', and not with omega'_v


def test_what_a_transcription_damages_is_no_number_against_the_paper() -> None:
    damaged = [each for each in errata() if each.kind == "transcription"]
    assert {each.where for each in damaged} >= {"eqs. 43, 44", "eqs. 59-66", "eqs. 15, 16, 18-22"}
    assert not any(each.runs for each in damaged)
    assert all(measured(each).startswith("none: ") for each in damaged)


def test_table_2_as_printed_does_not_give_the_numbers_beside_it() -> None:
    (one,) = [each for each in errata("korayem-2009") if each.where == "Table 2, this work"]
    assert "2250 M, 1220 A beside the printed 2706 M, 2134 A" in measured(one)
