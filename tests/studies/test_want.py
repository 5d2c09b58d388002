"""The cheapest shapes and tolerance for a wanted error: the true error, what is refused."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.errors import FlexarmError, ShapeError, SimulationError
from flexarm.integrate.constants import DEFAULT_INTERVALS
from flexarm.links.base import DIRECTIONS
from flexarm.model import Model, build
from flexarm.runs.run import Run
from flexarm.studies import bases
from flexarm.studies.bases import Answer, differences, numbers, recounted
from tests.accuracy.motions import converged, random_motion
from tests.linear.linear_arms import one_link
from tests.physics.cases import campaign_if

pytestmark = pytest.mark.usefixtures("little_effort")
WANT, T_END = 0.01, 0.5
ARMS, QUICK = range(20), 13
RICHER = ((6, 3), (7, 4), (8, 5))  # bending shapes of the truth beyond the arm's, and those of rods
SWUNG = "{kind: revolute, actuation: prescribed, motion: {kind: spin-up, rate: 3, duration: 0.4}}"


def run(arm: Arm, rtol: float) -> Run:
    """Run an arm with the samples that a search has."""
    return flexarm.simulate(arm, t_end=T_END, dt=T_END / DEFAULT_INTERVALS, rtol=rtol)


@cache
def judged(seed: int) -> tuple[Arm, Answer, Run]:
    """Give a random arm on the shapes that were found, the answer, and the true motion."""
    arm = random_motion(seed)
    answer = flexarm.converge(arm, t_end=T_END, want="1%").answer
    assert answer is not None
    return flexarm.change_arm(arm, answer.changes), answer, true_motion(arm)


def true_motion(arm: Arm) -> Run:
    """Run an arm on ever more shapes in the directions that it leaves, until they add little."""
    found = run(converged(arm), 1e-6)
    for more, rods in RICHER:
        richer = run(moving(converged(arm, more, rods), found), 1e-6)
        apart = max(differences(found, richer).values())
        found = richer
        if apart < WANT / 20:
            break
    assert apart < WANT / 5
    return found


def moving(arm: Arm, seen: Run) -> Arm:
    """Leave out the directions in which links stayed straight in a run."""
    counts = {}
    for i, number in numbers(arm).items():
        part = seen.model.links[i]
        q = np.abs(seen.q[:, part.modes]).max(axis=0)
        left = {d for d in DIRECTIONS for k in part.beam.shapes.moving(d) if q[k] > 1e-9}
        counts[i] = type(number)(
            *(n if d in left else 0 for n, d in zip(number, DIRECTIONS, strict=True))
        )
    return recounted(arm, counts)


def error(arm: Arm, rtol: float, truth: Run) -> float:
    """Measure how far tip deflections are from the true ones, over their range."""
    return max(differences(run(arm, rtol), truth).values())


def one_less(arm: Arm) -> list[Arm]:
    """Take each last shape away in turn, but not the only one of a link."""
    found = []
    for i, number in numbers(arm).items():
        counts = {d: number.of(d) for d in DIRECTIONS}
        for d in DIRECTIONS:
            if counts[d] and sum(counts.values()) > 1:
                less = type(number)(**counts | {d: counts[d] - 1})
                found.append(recounted(arm, {i: less}))
    return found


@pytest.mark.campaign
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=campaign_if(seed != QUICK)) for seed in ARMS]
)
def test_the_true_error_is_what_is_wanted_and_no_more_than_is_stated(seed: int) -> None:
    """It is a tenth of what is wanted or more, unless each shape less errs by more than that."""
    arm, answer, truth = judged(seed)
    true = error(arm, answer.rtol, truth)
    print(
        f"\n{seed}: {answer.basis}, rtol {answer.rtol:g}: {true:.2e}, stated {answer.estimate:.2e}"
    )
    assert answer.within
    assert true <= answer.estimate <= WANT
    if true < WANT / 10:
        assert all(error(less, 1e-5, truth) > WANT for less in one_less(arm))


def test_no_shape_of_the_answer_can_be_left_out() -> None:
    arm, _, truth = judged(QUICK)
    assert one_less(arm)
    assert all(error(less, 1e-5, truth) > WANT for less in one_less(arm))


@pytest.mark.campaign  # tests/cli/test_converge.py has one
def test_what_cannot_be_reached_is_told_with_what_was() -> None:
    said: list[str] = []
    arm = one_link(joint=SWUNG, shapes="{kind: clamped-free, bending_y: 1}")
    found = flexarm.converge(arm, t_end=0.1, want=1e-6, trials=2, progress=said.append)
    assert found.answer is not None
    assert not found.answer.within
    assert found.answer.estimate > 1e-6
    assert len(said) == found.answer.trials == 2
    assert found.advice[0].startswith("0.0001 % was not reached in 2 trials of up to 100")


@pytest.mark.few(1)
@pytest.mark.parametrize("what", ["run", "built"])
def test_richer_shapes_that_cannot_be_had_end_the_search(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A run that would take hours, and shapes that there are not."""
    made: list[Run] = []

    def richer(arm: Arm) -> bool:
        return bool(made) and build(arm).size > made[0].model.size

    def first(arm: Arm, **options: Any) -> Run:
        if richer(arm):
            raise SimulationError("it would take about 1.9 hours of CPU")
        made.append(flexarm.simulate(arm, **options))
        return made[-1]

    def known(arm: Arm, **options: Any) -> Model:
        if what == "built" and richer(arm):
            raise ShapeError("there are not so many")
        return build(arm, **options)

    monkeypatch.setattr(bases, "simulate_whole", first)
    monkeypatch.setattr(bases, "build", known)
    arm = one_link(joint=SWUNG, shapes="{kind: clamped-free, bending_y: 1}")
    answer = flexarm.converge(arm, t_end=0.1, want=1e-6).answer
    assert answer is not None
    assert not answer.within
    if what == "run":  # nothing to compare with: unknown
        assert answer.estimate == np.inf
    else:
        assert 1e-6 < answer.estimate < 1


@pytest.mark.few(1)
@pytest.mark.parametrize("asked", ["want", "wish"])
def test_an_error_that_one_run_does_not_tell_is_called_so(asked: str) -> None:
    """Of links that slide, whose runs do not say what more shapes would change."""
    options: dict[str, Any] = {asked: 1e-6}
    one_shape = {"links.1.shapes": {"kind": "loaded", "bending_y": 1}}
    arm = flexarm.change_arm(flexarm.example_arm("telescope"), one_shape)
    found = flexarm.converge(arm, t_end=0.1, trials=1, **options)
    assert found.answer is not None
    assert not found.answer.within
    said = "was run without a reference, so its error is unknown. Allow more trials"
    assert sum(said in line for line in found.advice) == 1
    assert not any("inf" in line for line in found.advice)


@pytest.mark.campaign
def test_shapes_of_a_link_that_slides_are_found() -> None:
    arm = flexarm.example_arm("telescope")
    answer = flexarm.converge(arm, t_end=T_END, want=WANT).answer
    assert answer is not None
    assert answer.within
    assert answer.coordinates < build(arm).size
    truth = run(flexarm.change_arm(arm, {"links.1.shapes.bending_y": 6}), 1e-6)
    assert error(flexarm.change_arm(arm, answer.changes), answer.rtol, truth) <= answer.estimate


@pytest.mark.campaign
def test_amplitudes_that_the_file_names_keep_their_shapes() -> None:
    arm = one_link(
        joint=SWUNG, shapes="{kind: clamped-free, bending_y: 3}", rest="    start: {y1: 0.01}\n"
    )
    answer = flexarm.converge(arm, t_end=0.2, want=0.05).answer
    assert answer is not None
    assert answer.within
    assert answer.shapes["link1"]["kind"] == "clamped-free"
    assert answer.shapes["link1"]["bending_y"] >= 1


def test_an_arm_at_rest_has_no_answer_and_other_shapes_must_be_allowed() -> None:
    arm = one_link(shapes="{kind: loaded, bending_y: 1}")
    still = flexarm.converge(arm, t_end=0.1, want=0.01)
    assert (still.answer, still.estimate) == (None, None)
    assert "Nothing deflects" in still.advice[0]
    with pytest.raises(FlexarmError, match="others: must be True with 'want'"):
        flexarm.converge(arm, want=0.01, others=False)
