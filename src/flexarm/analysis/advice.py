"""What to do about an arm's shapes, in words."""

from typing import TYPE_CHECKING

from flexarm.arm import Arm, Moving
from flexarm.integrate.validity import MODEL_ERROR

if TYPE_CHECKING:
    from flexarm.analysis.converge import Convergence, Row

# Of the error of the shapes as given: others are advised if theirs is below.
BETTER = 0.7


def advice(found: "Convergence", arm: Arm) -> list[str]:
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
    elif (better := _better(found)) is not None:
        lines.append(
            f"With no more coordinates, '{better.basis}' comes to "
            f"{_percent(better.run_error or 0.0)}: take that first."
        )
    else:
        lines.append("Take one more shape per direction, and ask again.")
    best = _cheapest(found)
    if best is not None:
        lines.append(
            f"Of the shapes tried, '{best.basis}' reaches {_percent(best.run_error or 0.0)} with "
            f"{best.coordinates} coordinates and RK4 steps up to {best.step:.3g} s "
            f"(as given: {found.rows[0].step:.3g} s)."
        )
    return lines + _model_advice(found)


def _other_family(arm: Arm) -> str:
    held = all(
        not isinstance(link.joint, Moving) or link.joint.actuation == "prescribed"
        for link in arm.links
    )
    if held:
        return "The joints are held: take loaded modes with 'root: held'."
    return (
        "The joints do not match the shapes: take loaded modes, 'root: held' if a controller or a "
        "gear holds the joints, 'root: free' if torques move them freely, or 'static: true'."
    )


def _model_advice(found: "Convergence") -> list[str]:
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
        if found.slope > MODEL_ERROR[-1][0]:
            lines.append("It was not compared with the exact beam at such slopes: split the link.")
        elif found.model_error > found.wish:
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


def _cheapest(found: "Convergence") -> "Row | None":
    """Find the fewest coordinates, then the largest step, that reach the wish."""
    good = [row for row in found.rows if row.run_error is not None and row.run_error <= found.wish]
    if not good or found.rows[0] in good:
        return None
    return min(good, key=lambda row: (row.coordinates, -row.step))


def _better(found: "Convergence") -> "Row | None":
    """Find shapes that err clearly less with no more coordinates than those given."""
    given, others = found.rows[0], found.rows[1:]
    bound = BETTER * (found.estimate or 0.0)
    good = [
        row
        for row in others
        if row.coordinates <= given.coordinates
        and row.run_error is not None
        and row.run_error < bound
    ]
    return min(good, key=lambda row: row.run_error or 0.0, default=None)


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %"
