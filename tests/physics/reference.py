"""Lagrange's equations of an arm straight from the definitions, by automatic differentiation.

Every material point, rigid body and rotor of the arm is placed as a function of the coordinates;
the energies are summed over them and differentiated.  Nothing is shared with the library but the
arm's description, its coordinate names and its shape functions (and the way to call CasADi).
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arm import (
    AnyActuated,
    Arm,
    Body,
    Carriage,
    Frame,
    FreeBase,
    Link,
    Moving,
    Prismatic,
    Revolute,
    Screw,
    Sliding,
    Spherical,
    Universal,
    Wrench,
)
from flexarm.engine.operators import direct_operators
from flexarm.links.base import Direction, Span
from flexarm.model import LinkModel, Model
from tests.physics.exact_reference import ExactBeam
from tests.physics.exact_sliding import ExactGrowing
from tests.physics.placement import (
    E_X,
    E_Y,
    E_Z,
    Array,
    Expr,
    Growing,
    Pose,
    Sections,
    at,
    bent,
    cayley,
    clamped_damping,
    extra_mass,
    frame_pose,
    gauss,
    inertia_matrix,
    joint_frames,
    piece_lengths,
    ramp,
    spin_of,
    spring,
    straight,
    taylor,
    tip_bodies,
    turn,
)

# Whether stiffened links of constant length, and those that slide, are geometrically exact by
# default: as the library has them.
EXACT, EXACT_SLIDING = True, True


class Reference:
    """Equation of motion of a model: NumPy in and out.

    ``exact`` bends stiffened links of constant length geometrically exactly, ``exact_sliding``
    those that slide; else, and always where they have quadratic shapes, they bend to second order
    in the amplitudes.
    """

    @direct_operators()
    def __init__(
        self, model: Model, *, exact: bool = EXACT, exact_sliding: bool = EXACT_SLIDING
    ) -> None:
        self.model = model
        self._bends_exactly = exact and model.stiffening
        self._slides_exactly = exact_sliding and model.stiffening
        self._q, self._v = ca.SX.sym("q", model.size), ca.SX.sym("v", model.size)
        self._kinetic: Expr = ca.SX(0)
        self._elastic: Expr = ca.SX(0)
        self._weight: Expr = ca.SX(0)
        self._drag: Expr = ca.SX(model.size, 1)
        self._dampers: list[tuple[slice, Callable[[Array], Array]]] = []
        self._inputs: list[Expr] = []
        self._beams: dict[str, ExactBeam] = {}
        self._wrenches: list[Expr] = []
        base = end = self._base(model.arm)
        self._roots: dict[str, tuple[LinkModel, Pose]] = {}
        ends, before = {"base": base}, "base"
        for part in model.links:
            before = part.link.parent or before
            end = ends[part.name] = self._link(part, self._carrier(part.link, before, ends))
            self._body(end, part.link.payload)
            before = part.name
        if model.arm.payload is not None:
            self._body(end, model.arm.payload)
        self._end = end
        self._functions: dict[str, ca.Function] = {}

    def mass_matrix(self, q: Array) -> Array:
        """Second derivative of the kinetic energy by the rates: momenta at unit rates."""
        columns = [self._call("momentum", q, unit) for unit in np.eye(len(q))]
        return np.stack(columns, axis=1)

    def coriolis(self, q: Array, v: Array) -> Array:
        return self._call("coriolis", q, v)

    def gravity(self, q: Array) -> Array:
        return self._call("gravity", q)

    def elastic(self, q: Array) -> Array:
        return self._call("elastic", q)

    def dissipative(self, q: Array, v: Array) -> Array:
        total = self._call("drag", q, v)
        for modes, matrix in self._dampers:
            total[modes] += matrix(q) @ v[modes]
        return total

    def bias(self, q: Array, v: Array) -> Array:
        return self.coriolis(q, v) + self.gravity(q) + self.elastic(q) + self.dissipative(q, v)

    def applied(self, q: Array, u: Array, factors: Array) -> Array:
        """Generalised force of inputs and wrenches."""
        return self._call("applied", q, u, factors)

    @property
    def loads(self) -> tuple[int, int]:
        """Numbers of inputs and wrenches."""
        return len(self._inputs), len(self._wrenches)

    def kinetic(self, q: Array, v: Array) -> float:
        return float(self._call("kinetic", q, v)[0])

    def potential(self, q: Array) -> tuple[float, float]:
        """Elastic and gravitational energy."""
        elastic, weight = self._call("potential", q)
        return float(elastic), float(weight)

    def tip(self, q: Array) -> tuple[Array, Array]:
        """Rotation and position of the arm's tip."""
        numbers = self._call("tip", q)
        return numbers[:9].reshape(3, 3).T, numbers[9:]

    def _call(self, name: str, *arguments: Array) -> Array:
        if name not in self._functions:
            self._functions[name] = self._function(name)
        return np.array(self._functions[name](*arguments), dtype=float).ravel()

    @cached_property
    def _momentum(self) -> Expr:
        return ca.gradient(self._kinetic, self._v)

    @direct_operators()
    def _function(self, name: str) -> ca.Function:
        """Differentiate what is asked for: of most arms that is not all."""
        q, v, kinetic, end = self._q, self._v, self._kinetic, self._end
        u, factors = (ca.SX.sym(name, k) for name, k in zip("uf", self.loads, strict=True))
        table: dict[str, tuple[list[Expr], Callable[[], Expr]]] = {
            "kinetic": ([q, v], lambda: kinetic),
            "momentum": ([q, v], lambda: self._momentum),
            "coriolis": (
                [q, v],
                lambda: ca.jtimes(self._momentum, q, v) - ca.gradient(kinetic, q),
            ),
            "potential": ([q], lambda: ca.vertcat(self._elastic, self._weight)),
            "elastic": ([q], lambda: ca.gradient(self._elastic, q)),
            "gravity": ([q], lambda: ca.gradient(self._weight, q)),
            "drag": ([q, v], lambda: self._drag),
            "applied": ([q, u, factors], lambda: self._applied(ca.vertcat(u, factors))),
            "tip": ([q], lambda: ca.vertcat(ca.vec(end.rotation), end.position)),
        }
        inputs, make = table[name]
        return ca.Function(name, inputs, [ca.densify(make())])

    def _applied(self, amounts: Expr) -> Expr:
        total = ca.SX(len(self.model.names), 1)
        for i, load in enumerate(self._inputs + self._wrenches):
            total += load * amounts[i]
        return total

    def _coordinate(self, index: int | None) -> Expr:
        assert index is not None
        return self._q[index]

    def _rate(self, value: Expr) -> Expr:
        """Time derivative of an expression of the coordinates."""
        value = ca.SX(value)
        return ca.reshape(ca.jtimes(ca.vec(value), self._q, self._v), value.shape)

    def _body(self, pose: Pose, body: Body | None) -> None:
        """Add a rigid body given in a frame."""
        if body is None:
            return
        centre = pose.position + pose.rotation @ ca.DM(body.com)
        inertia = inertia_matrix(body)
        spread = np.eye(3) * np.trace(inertia) / 2 - inertia  # int r r^T dm
        rate = self._rate(pose.rotation)
        self._kinetic += body.mass * ca.sumsqr(self._rate(centre)) / 2
        self._kinetic += ca.trace(rate @ spread @ rate.T) / 2
        self._weight -= body.mass * ca.dot(ca.DM(self.model.arm.gravity), centre)

    def _base(self, arm: Arm) -> Pose:
        base = arm.base
        pose = frame_pose(base)
        if self.model.names[0] == "base.x":
            x, y, z = (turn(np.eye(3)[k], self._q[3 + k]) for k in range(3))
            pose = Pose(pose.rotation @ x @ y @ z, pose.position + self._q[:3])
        if isinstance(base, FreeBase):
            self._body(pose, base.body)
            for wrench in base.wrenches:
                along, off = _along_and_off(wrench)
                self._wrench(wrench, pose @ at((along or 0.0, 0, 0)) @ at(off))
        return pose

    def _carrier(self, link: Link, parent: str, ends: dict[str, Pose]) -> Pose:
        """Place the frame on another link, or on the base, in which a joint sits."""
        self._last = self._roots.get(parent)
        if link.at == "tip":
            return ends[parent]
        assert self._last is not None
        carrier, root = self._last
        along = link.at * carrier.link.length if isinstance(link.at, float) else 0.0
        return root @ self._section_pose(carrier, along - piece_lengths(carrier.link)[0])

    def _link(self, part: LinkModel, end: Pose) -> Pose:
        """Add a link with its joint to the end of what was there; return its own end."""
        link, joint = part.link, part.link.joint
        if isinstance(joint, Carriage):
            end = self._on_rail(part)
        before, after, last = joint_frames(link)
        inner = end @ before
        self._body(inner, joint.hub.inboard)
        root, hub = inner @ after, inner
        if isinstance(joint, Universal):
            first, second = (self._q[i] for i in part.coordinates)
            crossed = Pose(turn(E_Z, first) @ turn(E_Y, second), np.zeros(3))
            root, hub = inner @ crossed @ after, inner @ crossed
            self._acts(joint.first, first)
            self._acts(joint.second, second)
        if isinstance(joint, Spherical):
            first = frame_pose(Frame(rotation=joint.start.rotation)).rotation
            for k, i in enumerate(part.coordinates):
                first = first @ turn(np.eye(3)[k], self._q[i])
            root, hub = inner @ Pose(first, np.zeros(3)) @ after, inner @ Pose(first, np.zeros(3))
            spin = spin_of(first.T @ self._rate(first))
            self._drag += joint.damping * ca.jacobian(spin, self._v).T @ spin
        if isinstance(joint, Moving):
            angle = self._joint(part, end, before, after)
            root = inner
            if not isinstance(joint, Sliding):
                root = inner @ self._motion(joint, self._q[part.coordinates[0]]) @ after
                hub = inner @ self._motion(joint, angle)
        self._body(hub, joint.hub.outboard)
        self._body(root, link.rigid_body)
        if link.root_piece is not None:
            self._body(root, link.root_piece.body)
        root_length, tip_length = piece_lengths(link)
        root = root @ at((root_length, 0, 0))
        self._roots[part.name] = part, root
        if isinstance(joint, Sliding):
            tip = self._sliding_span(part, root)
        else:
            tip = self._span(part, root)
        if link.tip_piece is not None:
            self._body(tip, link.tip_piece.body)
        self._link_forces(part)
        end = tip @ at((tip_length, 0, 0))
        for wrench in link.wrenches:
            place = end
            along, off = _along_and_off(wrench)
            if along is not None:
                assert not isinstance(joint, Sliding), "a place on a sliding link: only its tip"
                place = root @ self._section_pose(part, along - root_length)
            self._wrench(wrench, place @ at(off))
        return end @ last

    def _motion(self, joint: Moving[Any, Any, Any, Any, Any, Any, Any, Any], value: Expr) -> Pose:
        axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
        if isinstance(joint, Revolute):
            return Pose(turn(axis, value), np.zeros(3))
        if isinstance(joint, Carriage):
            return at((0, 0, 0))
        if isinstance(joint, Screw):
            return Pose(turn(axis, value), ca.DM(axis) * joint.pitch * value / (2 * np.pi))
        return at(ca.DM(axis) * value)

    def _joint(self, part: LinkModel, end: Pose, before: Pose, after: Pose) -> Expr:
        """Add rotor, springs, friction and input of a joint; return the turn of its hub."""
        joint = part.link.joint
        assert isinstance(joint, Moving)
        axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
        if isinstance(joint, Sliding):
            axis = E_X
        hub = self._q[part.coordinates[0]]
        if part.body.one_length:
            slope = ca.DM(part.beam.shapes.rotation(np.zeros(1))[0]) @ self._q[part.modes]
            hub = hub + ca.dot(after.rotation.T @ axis, slope)
        motor, ratio = hub, 1.0
        if joint.drive is not None:
            drive, ratio = joint.drive, joint.drive.gear_ratio
            if drive.stiffness is not None:
                motor = self._coordinate(part.axes[0].motor)
                self._elastic += spring(drive.stiffness, motor - hub)[1]
                self._resist(motor - hub, drive.damping or 0.0)
            rate = ratio * self._rate(motor)
            if drive.rotor == "full":
                spin = spin_of(end.rotation.T @ self._rate(end.rotation))
                rate += ca.dot(before.rotation @ axis, spin)
            self._kinetic += drive.rotor_inertia * rate**2 / 2
            ratio = ratio if drive.motor_torque else 1.0
        self._acts(joint, hub)
        if joint.actuation == "torque":
            self._inputs[-1] = ratio * ca.gradient(motor, self._q)
        return hub

    def _acts(self, acts: AnyActuated, moved: Expr) -> None:
        """Add spring, friction and input along an axis that has moved."""
        if acts.spring is not None:
            deflection = moved - (acts.spring.rest or 0.0)
            self._elastic += spring(acts.spring.stiffness, deflection)[1]
            self._resist(moved, acts.spring.damping or 0.0)
        if acts.friction is not None:
            friction = acts.friction
            self._resist(moved, friction.viscous or 0.0)
            usual = 1e-4 if isinstance(acts, Carriage | Prismatic | Sliding) else 1e-3
            speed = self._rate(moved) / (friction.smoothing or usual)
            self._drag += ca.gradient(moved, self._q) * (friction.coulomb or 0.0) * ca.tanh(speed)
        if acts.actuation == "torque":
            self._inputs.append(ca.gradient(moved, self._q))

    def _resist(self, moved: Expr, damping: float) -> None:
        """Add a viscous damper across a displacement."""
        self._drag += ca.gradient(moved, self._q) * damping * self._rate(moved)

    def _span(self, part: LinkModel, root: Pose) -> Pose:
        """Add the span of a link of constant length; return its tip frame."""
        link = part.link
        if link.section is None:
            return root @ at((link.span, 0, 0))
        span = Span.of(link.section, link.span)
        edges = span.edges
        if part.body.one_length:
            edges = np.union1d(edges, part.beam.shapes.edges)
        beam = self._exact(part)
        x, weight = gauss(edges) if beam is None else beam.rule
        rotary = np.stack([weight * span.at(name, x) for name in ("Jx", "Jy", "Jz")])
        mass = weight * span.at("mass_per_length", x)
        if part.body.one_length:
            rates = self._v[part.modes]
            extra = extra_mass(part.beam.shapes, x, mass, rotary)
            self._kinetic += ca.bilin(ca.DM(extra), rates, rates) / 2
            self._elastic += self._strain_energy(part, span, x, weight)
        if beam is not None and np.any(rotary):
            spin = spin_of(root.rotation.T @ self._rate(root.rotation))
            self._kinetic += ca.dot(ca.DM(rotary), beam.spins(spin, self._rate) ** 2) / 2
            rotary = 0 * rotary
        sections = self._sections(part, x) if beam is None else beam.sections()
        self._strand(root, sections, mass, rotary)
        return root @ self._section_pose(part, link.span)

    def _on_rail(self, part: LinkModel) -> Pose:
        """Place the section of the link before at a station: right at the start's, to two rates."""
        assert self._last is not None
        rail, root = self._last
        assert isinstance(part.link.joint, Carriage)
        first = float(part.link.joint.start.position or 0.0)
        step, place = self._q[part.coordinates[0]] - first, first - rail.link.root_length
        beam = self._exact(rail)
        if beam is not None:
            return root @ beam.pose(place, step)
        shapes, d, x = rail.beam.shapes, self._q[rail.modes], np.array([place])

        def at_step(k: Direction, nu: int = 0) -> Expr:
            return ca.DM(taylor(shapes, k, x, nu, 0)) @ d + sum(
                ca.DM(taylor(shapes, k, x, nu, n)) @ d * step**n for n in (1, 2)
            )

        centre = ca.vertcat(place + step + at_step("x"), at_step("y"), at_step("z"))
        angle = ca.vertcat(at_step("twist"), -at_step("z", 1), at_step("y", 1))
        return root @ self._turned(Sections(centre, angle, angle))

    def _exact(self, part: LinkModel) -> ExactBeam | None:
        """Give the link's beam if it is geometrically exact."""
        link = part.link
        if not part.body.one_length or link.quadratic_shapes or not self._bends_exactly:
            return None
        assert link.section is not None
        if part.name not in self._beams:
            span = Span.of(link.section, link.span)
            self._beams[part.name] = ExactBeam(span, part.beam.shapes, self._q[part.modes])
        return self._beams[part.name]

    def _sections(self, part: LinkModel, x: Array) -> Sections:
        if not part.body.one_length:
            return straight(ca.DM(x))
        d = self._q[part.modes]
        return bent(part.link, part.beam.shapes, self.model.stiffening, d, x)

    def _section_pose(self, part: LinkModel, x: float) -> Pose:
        """Frame of a section in the root frame of the span, inside a rigid piece or the span."""
        if not part.body.one_length or x <= 0:
            return at((x, 0, 0))
        beam, place = self._exact(part), min(x, part.link.span)
        if beam is not None:
            pose = beam.pose(place)
        else:
            pose = self._turned(self._sections(part, np.array([place])))
        return pose @ at((max(x - part.link.span, 0.0), 0, 0))

    def _turned(self, section: Sections) -> Pose:
        angle = section.angle
        if self.model.stiffening:
            angle = angle * (1 + (angle[1] ** 2 + angle[2] ** 2) / 4)
        return Pose(cayley(angle), section.centre)

    def _strain_energy(self, part: LinkModel, span: Span, x: Array, weight: Array) -> Expr:
        beam = self._exact(part)
        if beam is not None:
            return beam.energy()
        shapes, d = part.beam.shapes, self._q[part.modes]
        energy = ca.bilin(ca.DM(shapes.stiffness), d, d) / 2
        if not self.model.stiffening:
            return energy
        slopes, bends = ({k: ca.DM(shapes.values(k, x, nu)) @ d for k in "yz"} for nu in (1, 2))  # type: ignore[arg-type]
        p = slopes["y"] * bends["y"] + slopes["z"] * bends["z"]
        for k, name in (("y", "EIz"), ("z", "EIy")):
            if span.has(name):
                energy += ca.dot(ca.DM(weight * span.at(name, x)), bends[k] * slopes[k] * p) / 2
        return energy

    def _sliding_span(self, part: LinkModel, root: Pose) -> Pose:
        """Add a beam that slides out of its hub, outside and inside; return its tip frame."""
        link, length = part.link, self._q[part.coordinates[0]]
        assert link.section is not None
        ends = Span.of(link.section, link.span).table
        inside = link.span - length

        def section(name: str, x: Expr) -> Expr:
            """Property at distances x from the beam's inner end, linear between its ends."""
            return float(ends[name][0]) + float(ends[name][-1] - ends[name][0]) * x / link.span

        def spin_inertia(x: Expr) -> Expr:
            return ca.horzcat(*[section(name, x) for name in ("Jx", "Jy", "Jz")]).T

        beam = self._growing(part)
        xi, weight = gauss(np.array([0.0, 1.0])) if beam is None else beam.rule
        label = ca.SX.sym("s", len(xi))  # distance from the beam's inner end: it names a section
        shift = (label - inside) / length - xi
        outer = straight((xi + shift) * length) if beam is None else beam.sections(xi, shift)
        scale, place = weight * length, xi * length + inside
        turning = spin_inertia(place) * ca.repmat(scale.T, 3, 1)
        if isinstance(beam, ExactGrowing) and any(np.any(ends[n]) for n in ("Jx", "Jy", "Jz")):
            spin = spin_of(root.rotation.T @ self._rate(root.rotation))
            kinetic = ca.dot(turning, beam.spins(spin, shift, self._rate) ** 2) / 2
            self._kinetic += ca.substitute(kinetic, label, place)
            turning = 0 * turning
        mass = section("mass_per_length", place) * scale
        self._strand(root, outer, mass, turning, (label, place))
        t, weight = gauss(np.array([0.0, 1.0]), 4)
        label = ca.SX.sym("s", 4)
        scale, hidden = weight * inside, t * inside
        mass = section("mass_per_length", hidden) * scale
        turning = spin_inertia(hidden) * ca.repmat(scale.T, 3, 1)
        self._strand(root, straight(label - inside), mass, turning, (label, hidden))
        if beam is None:
            return root @ at((length, 0, 0))
        self._elastic += beam.energy({name: section(name, place) for name in ends})
        if isinstance(beam, ExactGrowing):
            return root @ beam.tip()
        return root @ self._turned(beam.sections(np.ones(1), ca.SX(1, 1)))

    def _growing(self, part: LinkModel) -> Growing | ExactGrowing | None:
        """Give the flexible beam that slides out."""
        if part.body.range is None:
            return None
        length, d = self._q[part.coordinates[0]], self._q[part.modes]
        growing = Growing.of(part.sliding_beam.shapes, length, d, stiffening=self.model.stiffening)
        return ExactGrowing(growing) if self._slides_exactly else growing

    def _strand(
        self,
        root: Pose,
        sections: Sections,
        mass: Expr,
        rotary: Expr,
        labels: tuple[Expr, Expr] | None = None,
    ) -> None:
        """Add sections of a beam given in its root frame.

        ``labels`` holds the material coordinates that stay fixed in time, and what they are now.
        """
        world = root.rotation @ sections.centre + ca.repmat(root.position, 1, mass.shape[0])
        spin = spin_of(root.rotation.T @ self._rate(root.rotation))
        turning = self._rate(sections.linear) + ca.repmat(spin, 1, mass.shape[0])
        kinetic = ca.dot(mass, ca.sum1(self._rate(world) ** 2).T) / 2
        kinetic += ca.sum1(ca.sum2(rotary * turning**2)) / 2
        weight = -ca.dot(mass, (ca.DM(self.model.arm.gravity).T @ world).T)
        if labels is not None:
            kinetic, weight = ca.substitute([kinetic, weight], [labels[0]], [labels[1]])
        self._kinetic += kinetic
        self._weight += weight

    def _link_forces(self, part: LinkModel) -> None:
        """Add damping and the user's nonlinear elastic forces of a link."""
        link, d = part.link, self._q[part.modes]
        bodies = tip_bodies(self.model.arm, self.model.links.index(part))
        amplitude = {
            name.removeprefix(f"{part.name}."): d[i]
            for i, name in enumerate(self.model.names[part.modes])
        }
        for term in link.elastic_energy:
            product = ca.SX(term.coefficient)
            for name, power in term.powers.items():
                product *= amplitude[name] ** power
            self._elastic += product
        for table in link.elastic_force:
            self._elastic += ramp(table.amplitude, table.force, amplitude[table.coordinate])[1]
        if part.body.one_length:
            matrix = clamped_damping(link, part.beam.shapes, link.span, bodies)
            self._dampers.append((part.modes, lambda q: matrix))
        if part.body.range is not None:
            shapes, index = part.sliding_beam.shapes, part.coordinates[0]

            def at_length(q: Array) -> Array:
                length = float(q[index])
                return clamped_damping(link, shapes.at(length), length, bodies)

            self._dampers.append((part.modes, at_length))

    def _wrench(self, wrench: Wrench, section: Pose) -> None:
        """Add a wrench by the power that it gives to a section."""
        axes = section.rotation if wrench.frame == "link" else ca.DM.eye(3)
        spin = spin_of(self._rate(section.rotation) @ section.rotation.T)
        power = ca.dot(axes @ ca.DM(wrench.force), self._rate(section.position))
        power += ca.dot(axes @ ca.DM(wrench.torque), spin)
        self._wrenches.append(ca.gradient(power, self._v))


def _along_and_off(wrench: Wrench) -> tuple[float | None, tuple[float, float, float]]:
    """Split a wrench's place: along the link (None is its tip), and off the axis."""
    if wrench.at == "tip":
        return None, (0.0, 0.0, 0.0)
    if isinstance(wrench.at, float):
        return wrench.at, (0.0, 0.0, 0.0)
    assert isinstance(wrench.at, tuple)
    return wrench.at[0], (0.0, *wrench.at[1:])
