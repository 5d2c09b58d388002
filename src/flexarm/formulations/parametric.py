"""Equations that keep chosen numbers of an arm as symbols: for sweeps, sensitivity, identification.

M, c and the energies are linear in masses, inertias, stiffnesses, damping and gravity as long as
shapes stay what they are, and here they stay those of the arm as it was built.  So the equations at
two values of a number say what they are at any, and nothing in them knows which are symbols.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations.base import solve_motion
from flexarm.formulations.composite import Composite
from flexarm.formulations.quantities import trace
from flexarm.io.overrides import change_arm, read_value
from flexarm.links.base import Array
from flexarm.mechanics.loads import (
    applied_force,
    dissipative_force,
    elastic_force,
    input_matrix,
    potential_energy,
    wrench_force,
    wrench_list,
)
from flexarm.model import Model, build
from flexarm.spatial import Expr

# Of a number that the file gives, by how much the second equation has more; of 0, more by this.
STEP = 0.5
# Relative to what rounding is relative to: more than EXACT is not linear, less than SAME no change.
EXACT = 1e-9
SAME = 1e-12
STATES = 24
LINEAR = ("mass_matrix", "bias", "parts", "gravity", "inverse_dynamics", "energy", "matrices")


class Parametric:
    """Chosen numbers of an arm as one more input, `p`, of composite's functions.

    Attributes
    ----------
    model
        The arm.
    keys, start
        Keys of a model file, and their values there, in the units of the file, (k,).
    """

    def __init__(self, model: Model, parameters: Sequence[str]) -> None:
        self.model, self.keys = model, _keys(parameters)
        self.start: Array = np.array([_number(model, key) for key in self.keys])
        self._steps: Array = np.array([STEP * value or STEP for value in self.start])
        self._models = [
            _built(model, {key: value + step})
            for key, value, step in zip(
                self.keys, self.start.tolist(), self._steps.tolist(), strict=True
            )
        ]
        self._bent = self._check()

    def checked(self, values: Sequence[float] | Array) -> Array:
        """Take values, (k,), or refuse those that no model file may have."""
        names = ", ".join(self.keys)
        try:
            given = np.array(values, dtype=float)
        except (TypeError, ValueError):
            raise FlexarmError(f"values: must be numbers ({names}), got {values!r}") from None
        if given.shape != self.start.shape:
            raise FlexarmError(
                f"values: must be of shape {self.start.shape} ({names}), got shape {given.shape}"
            )
        if not np.isfinite(given).all():
            raise FlexarmError(f"values: must be finite ({names}), got {given.tolist()}")
        change_arm(self.model.arm, dict(zip(self.keys, given.tolist(), strict=True)))
        return given

    def function(self, name: str) -> ca.Function:
        """Trace a function of the contract that is linear in the parameters, or follows from M.

        Its inputs are those of the contract's, then ``p``.

        Raises
        ------
        FlexarmError
            If there is no such function, or it is not linear in the parameters: energy need not be.
        """
        if name == "energy" and self._bent:
            raise FlexarmError(
                f"'energy' with parameters: it is not linear in {' and '.join(self._bent)}, as the "
                "equations are: take it of the arm with these values, by flexarm.change_arm"
            )
        p = ca.SX.sym("p", len(self.keys))
        share = (p - ca.DM(self.start)) / ca.DM(self._steps)
        if name in LINEAR:
            parts = [trace(Composite(model), name) for model in self._all]
            symbols = parts[0].sx_in()
            first, *others = [part.call(symbols, True, False) for part in parts]
            results = _combined(first, others, share)
        elif name == "forward_dynamics":
            symbols, results = self._forward(share)
            parts = [trace(Composite(self.model), name)]
        else:
            raise FlexarmError(
                f"'{name}' with parameters: there are {', '.join(LINEAR)} and forward_dynamics"
            )
        names = [*parts[0].name_in(), "p"]
        return ca.Function(name, [*symbols, p], results, names, parts[0].name_out())

    @property
    def _all(self) -> list[Model]:
        return [self.model, *self._models]

    def _forward(self, share: Expr) -> tuple[list[Expr], list[Expr]]:
        """Solve the combined equations for the accelerations."""
        shape = trace(Composite(self.model), "forward_dynamics")
        symbols = shape.sx_in()
        q, v, u, w, given = symbols[:5]
        models = self._all
        if self.model.attitudes:
            models = [model.anchored(symbols[5]) for model in models]
        rows = []
        for model in models:
            one = Composite(model)
            rest = applied_force(model, q, v, u, w)
            rest -= one.inertial_expression(q, v, None, gravity=True)
            rows.append([one.mass_expression(q), rest])
        mass, rest = _combined(rows[0], rows[1:], share)
        return symbols, list(solve_motion(self.model, mass, rest, given))

    def _check(self) -> tuple[str, ...]:
        """Make sure that the equations are linear in each parameter, and in all together.

        Returns those that energy is not linear in.
        """
        states = _states(self.model)
        looks = [_look(model, states) for model in self._all]
        bent: list[str] = []
        for k, key in enumerate(self.keys):
            if _apart(looks[0].values, looks[0], looks[k + 1]).max() <= SAME:
                raise FlexarmError(f"'{key}' changes nothing in the equations of this arm")
            values = self.start.copy()
            values[k] += 2 * self._steps[k]
            equations, energy = self._errors(values, looks, states)
            if equations > EXACT:
                raise FlexarmError(
                    f"'{key}' cannot be kept as a symbol: the equations are not linear in it; "
                    "use simulate_many for runs with several values"
                )
            bent += [key] if energy > EXACT else []
        equations, energy = self._errors(self.start + 2 * self._steps, looks, states)
        if equations > EXACT:
            raise FlexarmError(
                f"{', '.join(self.keys)}: some of these multiply each other, so that the "
                "equations are not linear in all of them together: keep fewer as symbols"
            )
        return tuple(bent) or (self.keys if energy > EXACT else ())

    def _errors(self, values: Array, looks: list["_Look"], states: Array) -> tuple[float, float]:
        """Compare equations and energy with those of the arm that has these values."""
        model = _built(self.model, dict(zip(self.keys, values.tolist(), strict=True)))
        first, *others = [look.values for look in looks]
        found = _combined(first, others, (values - self.start) / self._steps)
        errors = _apart(found, looks[0], _look(model, states))
        return float(errors[:-2].max()), float(errors[-2:].max())


@dataclass(frozen=True)
class _Look:
    """What the equations of an arm are made of, at several states.

    Attributes
    ----------
    values
        M, K, D, the parts of c, wrenches and B; at last both potential energies at q = 0.
    scales
        Of the same shapes: what rounding errors are relative to.
    """

    values: list[Array]
    scales: list[Array]


def _look(model: Model, states: Array) -> _Look:
    """Evaluate the equations of a model at states, (number, 2, n), and at rest."""
    function = _traced(model)
    rest = states[0] * 0.0
    rest[0] = _placed(model, rest[0])
    seen = [[np.array(part) for part in function(q, v)] for q, v in states]
    scales = [_scales(*at, *state) for at, state in zip(seen, states, strict=True)]
    *_, elastic, height = (np.array(part) for part in function(*rest))
    look = _Look(
        [np.stack(part) for part in list(zip(*seen, strict=True))[:-2]],
        [np.stack(part) for part in zip(*scales, strict=True)],
    )
    inputs, heaviest = input_matrix(model), look.values[0].max(initial=0.0)
    look.values.extend([inputs, elastic, height])
    look.scales.extend([np.abs(inputs), np.abs(elastic), np.abs(height) + heaviest])
    return look


def _traced(model: Model) -> ca.Function:
    """Trace what is looked at."""
    one = Composite(model)
    q, v = ca.SX.sym("q", model.size), ca.SX.sym("v", model.size)
    elastic, loss = elastic_force(model, q), dissipative_force(model, q, v)
    parts = [
        one.mass_expression(q),
        ca.jacobian(elastic, q),
        ca.jacobian(loss, v),
        elastic,
        loss,
        one.inertial_expression(q, v, None, gravity=False),
        one.inertial_expression(q, ca.SX(model.size, 1), None, gravity=True),
        wrench_force(model, q, ca.SX.ones(len(wrench_list(model)), 1)),
        *potential_energy(model, q),
    ]
    return ca.Function("look", [q, v], [ca.densify(part) for part in parts])


def _scales(M: Array, K: Array, D: Array, elastic: Array, loss: Array, *rest: Array) -> list[Array]:
    """Tell what the entries of each part may be compared with.

    An entry of a matrix with those of the diagonal in its row and column; a force of a spring or
    a damper with what each coordinate adds to it; one of inertia or weight, in coordinates whose
    masses are 1, with the largest.
    """
    *forces, _, _, q, v = rest
    root = np.sqrt(np.abs(np.diag(M)))
    mass = np.where(root > 0.0, root, 1.0)[:, None]
    return [
        *(np.sqrt(np.outer(np.diag(abs(A)), np.diag(abs(A)))) + abs(A) for A in (M, K, D)),
        np.abs(K) @ np.abs(q)[:, None] + np.abs(elastic),
        np.abs(D) @ np.abs(v)[:, None] + np.abs(loss),
        *(mass * (mass.max(initial=0.0) + np.abs(f / mass).max(initial=0.0)) for f in forces),
    ]


def _apart(found: list[Array], first: _Look, true: _Look) -> Array:
    """Give the largest error of each part in its scale."""
    result = []
    for k, value in enumerate(found):
        scale = np.maximum(first.scales[k], true.scales[k])
        error = np.abs(value - true.values[k])
        share = np.divide(error, scale, out=np.where(error > 0.0, np.inf, 0.0), where=scale > 0.0)
        result.append(np.nan_to_num(share, nan=np.inf).max(initial=0.0))
    return np.array(result)


def _states(model: Model) -> Array:
    """Draw coordinates and rates, small and large, (STATES, 2, n)."""
    sizes = np.geomspace(1e-3, 1.0, STATES)
    states: Array = np.random.default_rng(0).normal(size=(STATES, 2, model.size))
    states *= np.stack([sizes, sizes[::-1]], axis=1)[:, :, None]
    for state in states:
        state[0] = _placed(model, state[0])
    return states


def _placed(model: Model, q: Array) -> Array:
    """Put sliding joints into the middle of their ranges."""
    for part in model.links:
        if part.sliding is not None:
            q[part.exposed] = np.mean(part.sliding.range)
    return q


def _combined(first: list[Expr], others: list[list[Expr]], share: Expr) -> list[Expr]:
    """Go from the first results towards the others by their shares."""
    results = []
    for k, start in enumerate(first):
        total = start
        for i, other in enumerate(others):
            total = total + share[i] * (other[k] - start)
        results.append(total)
    return results


def _built(model: Model, values: dict[str, float]) -> Model:
    changed = change_arm(model.arm, values)
    try:
        other = build(
            changed,
            stiffening=model.stiffening,
            tip_rotation=model.tip_rotation,
            shapes_of=model,
        )
    except ModelError as error:
        raise ModelError(f"'{', '.join(values)}' cannot be kept as a symbol: {error}") from None
    if other.names != model.names:
        raise FlexarmError(f"{', '.join(values)}: changes the coordinates: cannot be a symbol")
    return other


def _keys(parameters: object) -> tuple[str, ...]:
    """Check that parameters are keys, each once."""
    keys: list[object] = []
    if isinstance(parameters, Iterable) and not isinstance(parameters, str):
        keys = list(parameters)
    texts = tuple(key for key in keys if isinstance(key, str))
    if not texts or len(texts) < len(keys):
        raise FlexarmError(
            "parameters: must be a list of keys of the model file, such as ['payload.mass'], "
            f"got {parameters!r}"
        )
    if len(set(texts)) < len(texts):
        raise FlexarmError(f"parameters: each key once, got {', '.join(texts)}")
    return texts


def _number(model: Model, key: str) -> float:
    value = read_value(model.arm, key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FlexarmError(f"parameter '{key}': must be a number of the arm, got {value!r}")
    if key.endswith(".length"):
        raise FlexarmError(
            f"'{key}' cannot be kept as a symbol: the equations are not linear in it, and shapes "
            "hold for one length; use simulate_many for runs with several values"
        )
    return float(value)
