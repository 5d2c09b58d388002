"""What to do about an arm's shapes, in words."""

from flexarm.arm import Arm
from flexarm.study.convergence import Convergence
from flexarm.study.shape_search import MOST_COORDINATES, Answer


def advice(found: Convergence, arm: Arm) -> list[str]:
    """Say in words how good the shapes of an arm are and what to do."""
    if found.estimate is None:
        return [
            f"Nothing deflects in {found.t_end:g} s: give the arm inputs, gravity or an initial "
            "state, or a longer run; the frequencies below do not need one."
        ]
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


def _answered(answer: Answer, found: Convergence) -> str:
    """Say what the search came to."""
    size = f"{answer.coordinates} coordinates (as given: {found.rows[0].coordinates})"
    if answer.estimate is None:
        return f"No other shapes could be judged in {answer.trials} trials: their runs ended early."
    error = _percent(answer.estimate)
    if answer.within:
        return f"Take '{answer.basis}': off by about {error}, with {size}."
    return (
        f"No shapes within {_percent(found.wish)} were found in {answer.trials} trials, up to "
        f"{MOST_COORDINATES} coordinates each: the best, '{answer.basis}', are off by about "
        f"{error}, with {size}."
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


def _model_advice(found: Convergence) -> list[str]:
    """Say what shapes of bending do not mend: the model's own error, and stretch."""
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
