"""Reference motions, control laws, stability analysis, and equilibria of held arms."""

from flexarm.control.laws.decoupling import decoupling_law, link_decoupling_law
from flexarm.control.laws.inversion import Inversion, stable_inversion
from flexarm.control.laws.lqr import (
    Observer,
    Regulator,
    Weights,
    loop_margins,
    lqg_law,
    lqr,
    lqr_gain,
    lqr_law,
)
from flexarm.control.laws.pd import pd_law, rigid_feedforward
from flexarm.control.reaction import BaseReaction, base_reaction
from flexarm.control.sensors import Gauge, limited_law, measured_law, sampled, sensors
from flexarm.control.stability import (
    FrozenLoop,
    Margins,
    StiffnessError,
    closed_loop_eigenvalues,
    stiffness_error_along,
)
from flexarm.control.statics import Statics, start_at
from flexarm.control.trajectory import (
    Timing,
    Trajectory,
    hold,
    joint_move,
    reaction_free_move,
    tip_move,
)
from flexarm.integrate.laws import Sensors

__all__ = [
    "BaseReaction",
    "FrozenLoop",
    "Gauge",
    "Inversion",
    "Margins",
    "Observer",
    "Regulator",
    "Sensors",
    "Statics",
    "StiffnessError",
    "Timing",
    "Trajectory",
    "Weights",
    "base_reaction",
    "closed_loop_eigenvalues",
    "decoupling_law",
    "hold",
    "joint_move",
    "limited_law",
    "link_decoupling_law",
    "loop_margins",
    "lqg_law",
    "lqr",
    "lqr_gain",
    "lqr_law",
    "measured_law",
    "pd_law",
    "reaction_free_move",
    "rigid_feedforward",
    "sampled",
    "sensors",
    "stable_inversion",
    "start_at",
    "stiffness_error_along",
    "tip_move",
]
