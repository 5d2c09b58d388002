"""What to do about an arm's shapes, in words."""

import math

from flexarm.arm import Arm
from flexarm.studies.convergence import Convergence
from flexarm.studies.shape_search import MOST_COORDINATES, Answer


def advice(found: Convergence, arm: Arm) -> list[str]:
    """Say in words how good the shapes of an arm are and what to do."""
    if found.estimate is None:
        return [_still(found)]
    lines = [
        f"The shapes as given are off by about {_percent(found.estimate)} of the tip deflection's "
        f"range in this motion (worst: {max(found.by_link, key=lambda n: found.by_link[n])})."
    ]
    if found.estimate <= found.wish:
        lines.append(f"That is within the {_percent(found.wish)} asked for: keep them.")
    elif found.mismatch:
        lines.append(
            "The family lacks a shape that this motion needs: one more member of it changes only "
            f"{_percent(found.step_of_family or 0.0)}. {_other_family(arm)}"
        )
    elif found.answer is None:
        lines.append("More shapes are needed: they are looked for if others may be tried.")
    if found.answer is not None:
        lines.append(_answered(found.answer, found))
    return lines + _model_advice(found)


def advice_on_want(found: Convergence) -> list[str]:
    """Say in words which shapes and tolerance give the error that is wanted, or why none do."""
    answer = found.answer
    if answer is None:
        return [_still(found)]
    size = f"{answer.coordinates} coordinates (as given: {found.rows[0].coordinates})"
    if answer.within:
        lines = [f"Take '{answer.basis}' with --rtol {answer.rtol:g}: off by "
                 f"{_percent(answer.estimate)} or less, with {size}."]  # fmt: skip
    else:
        lines = [
            f"{_percent(found.wish)} was not reached in {answer.trials} trials, up to "
            f"{MOST_COORDINATES} coordinates and an hour each: '{answer.basis}', {size}, "
            f"{_left(answer)}"
        ]
    if found.estimate is not None and math.isfinite(found.estimate):
        lines.append(f"The shapes as given are off by {_percent(found.estimate)} or less.")
    return lines + _model_lines(found)


def _left(answer: Answer) -> str:
    """Say how far off what was found may be, and what to do."""
    if not math.isfinite(answer.estimate):
        return "was run alone, which does not tell its error: allow more trials, or a shorter run."
    return (
        f"may still be off by {_percent(answer.estimate)}. Each enrichment changes the motion by "
        "more than is wanted, or cannot be run: ask for a larger error, or for a shorter run if "
        "the motion is chaotic."
    )


def _still(found: Convergence) -> str:
    return (
        f"Nothing deflects in {found.t_end:g} s: give the arm inputs, gravity or an initial "
        "state, or a longer run; the frequencies below do not need one."
    )


def _answered(answer: Answer, found: Convergence) -> str:
    """Say what the search came to."""
    size = f"{answer.coordinates} coordinates (as given: {found.rows[0].coordinates})"
    if answer.within:
        error = _percent(answer.estimate)
        return f"Take '{answer.basis}': off by {error} or less, with {size}."
    return (
        f"No shapes within {_percent(found.wish)} were found (trials: {answer.trials}, up to "
        f"{MOST_COORDINATES} coordinates each): '{answer.basis}', {size}, {_left(answer)}"
    )


def _other_family(arm: Arm) -> str:
    held = all(
        acts.actuation == "prescribed" for link in arm.links for acts in link.joint.axes.values()
    )
    if held:
        return "The joints are held: take loaded modes with 'root: held'."
    return (
        "The joints do not match the shapes: take loaded modes, 'root: held' if a controller or a "
        "gear holds the joints, 'root: free' if torques move them freely, or 'static: true'."
    )


def _model_lines(found: Convergence) -> list[str]:
    """Say what no shapes mend: the model's own error."""
    if found.model_error is None:
        lines = [
            f"Slopes reach {found.slope:.2g}, more than a model without stiffening bears: switch "
            "it on before adding shapes."
        ]
    else:
        lines = [
            f"The model's own error at slopes of {found.slope:.2g} is about "
            f"{_percent(found.model_error)} or less."
        ]
        if found.model_error > found.wish:
            lines.append("That is more than is asked for: split the link; shapes do not help.")
    return lines


def _model_advice(found: Convergence) -> list[str]:
    """Say what shapes of bending do not mend: the model's own error, and stretch."""
    lines = _model_lines(found)
    if found.stretch is None:
        lines.append("Stretch was not tried: it needs EA in a section.")
    elif found.stretch <= found.wish:
        lines.append(f"One more shape of stretch changes {_percent(found.stretch)}: leave it out.")
    else:
        lines.append(
            f"One more shape of stretch changes {_percent(found.stretch)}: set 'stretch' in the "
            "shapes one higher."
        )
    return lines


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %"
