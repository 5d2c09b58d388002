"""Options of a simulation, each declared once with unit, bounds and description.

The command line is built from these declarations, so this module imports nothing that is slow to
load.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from flexarm.arguments import (
    FormulationName,
    MethodName,
    is_number,
    is_word,
    listed,
    refused,
    require_flag,
    require_function,
    require_mapping,
    require_number,
    require_positive,
    require_word,
    shown,
)
from flexarm.errors import SimulationError
from flexarm.integrate.constants import (
    AUDIT_BALANCE,
    LONGEST_RUN,
    LOOSEST_RTOL,
    MOST_STEPS,
    RTOL,
    SHORTEST_RUN,
    TIGHTEST_RTOL,
)
from flexarm.runs.constants import MOST_SAMPLES

if TYPE_CHECKING:
    import casadi as ca

    from flexarm.integrate.laws import Sampled
    from flexarm.integrate.mission.wrenches import StateWrench
    from flexarm.linear.equilibrium import Equilibrium
    from flexarm.runs.run import Run

Locks = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class Option:
    """Declaration of an option of a simulation, attached to a field of `RunOptions`."""

    help: str  # description in one line
    more: str = ""  # further sentences for docs and docstrings
    # Unit (1 for a ratio) and bounds of a number; a number with the lower bound 0 must be above 0.
    unit: str = ""
    bounds: tuple[float, float] = (0.0, math.inf)
    words: tuple[str, ...] = ()  # allowed names, as far as they are known beforehand
    check: Callable[[str, Any], object] | None = None  # raises an error for a value of another kind
    flag: str = ""  # command-line flag with its value; empty for Python only

    def read(self, name: str, value: Any) -> Any:
        """Return an option's value in SI units, or raise an error that names the option."""
        if self.unit and self.bounds[0] == 0:
            return require_positive(name, value, SimulationError, unit=self.unit)
        if self.unit:
            return require_number(name, value, SimulationError, *self.bounds, unit=self.unit)
        if self.check is not None and not is_word(value, self.words):
            self.check(name, value)
        return value


def _known_method(name: str, value: object) -> None:
    from flexarm.integrate.methods import METHODS  # including methods that users register

    require_word(name, value, ("auto", *METHODS), SimulationError)


def _known_formulation(name: str, value: object) -> None:
    from flexarm.formulations import FORMULATIONS

    require_word(name, value, FORMULATIONS, SimulationError)


def _intervals(name: str, value: object) -> None:
    locks = require_mapping(name, value, "lists of intervals by joint", SimulationError)
    for joint, intervals in locks.items():
        pairs = listed(intervals)
        if pairs is None or not all(_is_pair(pair) for pair in pairs):
            expected = "a list of pairs (begin, end) of numbers [s]"
            raise refused(f"{name}: {joint}", intervals, expected, SimulationError)


def _is_pair(interval: object) -> bool:
    pair = listed(interval)
    return bool(pair and len(pair) == 2 and is_number(pair[0]) and is_number(pair[1], finite=False))


def _law(name: str, value: object) -> None:
    import casadi as ca

    from flexarm.integrate.laws import Sampled

    if not isinstance(value, ca.Function | Sampled):
        raise SimulationError(
            "control: must be a CasADi function (t, q, v) that returns u, or a Sampled, got "
            f"{shown(value)}. Wrap a Python function as Sampled(law, period)."
        )


def _beginning(name: str, value: object) -> None:
    if is_word(value, ("stated", "equilibrium")):
        return
    from flexarm.linear.equilibrium import Equilibrium
    from flexarm.runs.run import Run

    if not isinstance(value, Run | Equilibrium):
        expected = "a Run, such as flexarm.load_run(path), an Equilibrium, 'equilibrium', 'stated'"
        raise refused(name, value, expected, SimulationError)


ERRORS = ("auto", "computed", "estimated", "off")
FLAG = partial(require_flag, error=SimulationError)
FUNCTION = partial(require_function, error=SimulationError)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a simulation, in SI units; `RunOptions.of` checks user input."""

    t_end: Annotated[
        float, Option("duration", unit="s", bounds=(SHORTEST_RUN, LONGEST_RUN), flag="--t-end S")
    ]
    dt: Annotated[
        float | None,
        Option(
            "sampling interval of the results; a 500th of the duration or less if not given",
            "The default is halved up to three times where straight lines between the samples "
            "would miss more than a hundredth of a vibration. Step sizes do not depend on ``dt``, "
            "except for ``rk4``, whose steps end at samples.",
            unit="s",
            flag="--dt S",
        ),
    ] = None
    method: Annotated[
        str,
        Option(
            "integration method; auto chooses one",
            "With ``auto`` the run states the reason for the choice. Phases in which brakes hold "
            "stiff joints may use another method.",
            words=get_args(MethodName),
            check=_known_method,
            flag="--method NAME",
        ),
    ] = "auto"
    rtol: Annotated[
        float,
        Option(
            "allowed error of the deflections, relative to their range",
            "Errors of joints, rates, tip and ``work_integrals`` are limited likewise.",
            unit="1",
            bounds=(TIGHTEST_RTOL, LOOSEST_RTOL),
            flag="--rtol X",
        ),
    ] = RTOL
    step: Annotated[
        float | None,
        Option(
            "step size of rk4",
            "A step that the fastest mode or decay makes unstable is an error. Without ``step``, "
            "``rk4`` repeats the run with smaller steps until its error is within the tolerance.",
            unit="s",
            flag="--step S",
        ),
    ] = None
    formulation: Annotated[
        str,
        Option(
            "formulation of the equations of motion",
            words=get_args(FormulationName),
            check=_known_formulation,
            flag="--formulation NAME",
        ),
    ] = "articulated"
    paper: Annotated[
        bool,
        Option("use the approximations of the formulation's paper", check=FLAG, flag="--paper"),
    ] = False
    tip_rotation: Annotated[
        Literal["cayley", "first-order"],
        Option(
            "rotation matrices of the links' tips: exact, or I + skew(angles) as in papers",
            words=("cayley", "first-order"),
            flag="--tip-rotation NAME",
        ),
    ] = "cayley"
    nodes: Annotated[
        int | None,
        Option(
            "nodes of exact links in addition to one per shape; chosen by the loads if not given",
            flag="--nodes N",
        ),
    ] = None
    inputs: Annotated[
        Mapping[str, Any] | None,
        Option(
            "joint inputs that replace the inputs of the model file, by joint name",
            "An input is a number, or a profile as in a model file.",
            check=partial(
                require_mapping, what="numbers or profiles by joint", error=SimulationError
            ),
        ),
    ] = None
    control: Annotated[
        "ca.Function | Sampled | None",
        Option(
            "control law that replaces all inputs and servos of the model file",
            "A CasADi function from (t, q, v) to u, which becomes part of the compiled equations, "
            "or a `Sampled` Python function.",
            check=_law,
        ),
    ] = None
    wrenches: Annotated[
        "Sequence[StateWrench] | None",
        Option(
            "forces and torques as functions of time and state, added to those of the model file",
            "The arm stored with the run has tables of their values at the samples instead.",
        ),
    ] = None
    locks: Annotated[
        Locks | None,
        Option(
            "time intervals (begin, end) [s] in which a joint is locked, by joint name",
            "A moving joint stops at once when it is locked; the kinetic energy lost counts as "
            "dissipated. Times with a relative difference of up to 1e-12 count as equal.",
            check=_intervals,
        ),
    ] = None
    start: Annotated[
        "Run | Equilibrium | Literal['stated', 'equilibrium'] | None",
        Option(
            "initial state: the end of a run; 'equilibrium'; or 'stated' in the model file",
            "A run (on the command line its NetCDF file): the final state of this run, including "
            "servos and drive trains. An `Equilibrium`: a result of `flexarm.equilibrium`. "
            "``equilibrium``: the state without accelerations, in which joints move at their given "
            "speeds, and servos and inputs balance the loads. ``stated``: the positions of joints "
            "and links in the model file. The default is the key ``start`` of the model file, or "
            "``stated`` without this key.",
            check=_beginning,
            flag="--start RUN",
        ),
    ] = None
    energy_audit: Annotated[
        bool,
        Option(
            "choose steps so small that the energy balance closes to 1e-8, whatever the tolerance",
            "If it does not close, the run's ``reason`` says so.",
            check=FLAG,
            flag="--energy-audit",
        ),
    ] = False
    errors: Annotated[
        Literal["auto", "computed", "estimated", "off"],
        Option(
            "errors of shapes and model",
            "``computed``: by runs with more shapes, also the integration of long runs. ``auto``: "
            "computed if an arm of equal structure had it before and it is quick.",
            words=ERRORS,
            check=partial(require_word, words=ERRORS, error=SimulationError),
            flag="--errors HOW",
        ),
    ] = "auto"
    allow_long: Annotated[
        bool,
        Option(
            "allow runs that are estimated to take more than an hour of CPU time or 4 GB",
            check=FLAG,
            flag="--yes",
        ),
    ] = False
    progress: Annotated[
        Callable[[float], None] | None,
        Option(
            "function called during the run with the simulated time [s]",
            check=partial(FUNCTION, what="of the time reached [s]"),
        ),
    ] = None
    live: Annotated[
        "Callable[[Callable[[], Run]], None] | None",
        Option(
            "function called about 20 times per second with a function that returns the run so far",
            "The run so far has the status ``running``; `flexarm.runs.write.LiveFile` writes it to "
            "a file.",
            check=partial(FUNCTION, what="such as a LiveFile(path)"),
        ),
    ] = None

    @classmethod
    def of(cls, **options: Any) -> "RunOptions":
        """Build options from user input; texts with units become numbers in SI units.

        Raises
        ------
        SimulationError
            If an option is of the wrong kind or out of bounds, or if two options are incompatible.
            The message begins with the name of the option.
        """
        return cls(
            **{
                name: OPTIONS[name].read(name, value)
                for name, value in options.items()
                if value is not None or getattr(cls, name, 0) is not None
            }
        )

    def __post_init__(self) -> None:
        """Raise an error if options are incompatible, or ask for too many samples or steps."""
        t_end, dt, step, period = self.t_end, self.dt, self.step, getattr(self.control, "period", 0)
        if dt is not None and dt > t_end:
            raise SimulationError(f"dt: must be at most the duration, {t_end:g} s, got {dt:g} s")
        if dt is not None and t_end / dt > MOST_SAMPLES:
            raise SimulationError(
                f"dt: {dt:g} s makes {t_end / dt:.3g} samples, more than {MOST_SAMPLES:.0e}. "
                "Take a larger dt, or a shorter duration."
            )
        if step is not None and self.is_adaptive:
            message = f"step: is used only with method rk4, got {self.method}"
            raise SimulationError(message)
        if step is not None and t_end / step > MOST_STEPS:
            raise SimulationError(
                f"step: {step:g} s makes {t_end / step:.3g} steps, more than {MOST_STEPS:.0e}. "
                "Take a larger step, a shorter duration, or method 'auto'."
            )
        if self.control is not None and self.inputs:
            raise SimulationError(
                f"inputs: cannot be combined with control, got {', '.join(self.inputs)}. A "
                "control law sets the inputs of all driven joints. Put these inputs into the "
                "law."
            )
        if self.control is not None and self.locks:
            raise SimulationError(
                "locks: cannot be combined with a control law. Leave locks or control out."
            )
        if period and t_end / period > MOST_SAMPLES:
            raise SimulationError(
                f"Sampled: a period of {period:g} s makes {t_end / period:.3g} calls, "
                f"more than {MOST_SAMPLES:.0e}. Take a longer period or a shorter run."
            )

    @property
    def is_adaptive(self) -> bool:
        """Whether the method chooses step sizes by an error estimate."""
        from flexarm.integrate.methods import METHODS

        return self.method == "auto" or METHODS[self.method].adaptive

    @property
    def tolerance(self) -> float:
        """Relative tolerance of the integration: ``rtol``, or a smaller one for an energy audit."""
        return min(self.rtol, AUDIT_BALANCE) if self.energy_audit else self.rtol


OPTIONS: dict[str, Option] = {
    name: annotation.__metadata__[0] for name, annotation in RunOptions.__annotations__.items()
}
# Names and descriptions of the options, as entries of a docstring.
DESCRIPTIONS = "\n".join(
    f"    {name}\n"
    + fill(
        f"{option.help[0].upper()}{option.help[1:]}"
        + (f" [{option.unit}]" if option.unit not in ("", "1") else "")
        + (f": {', '.join(option.words)}" if option.words else "")
        + f". {option.more}",
        initial_indent="        ",
        subsequent_indent="        ",
    )
    for name, option in OPTIONS.items()
)
