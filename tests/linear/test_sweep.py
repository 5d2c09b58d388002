"""Modes followed through crossings and over maps."""

import math

import numpy as np
import pytest

from flexarm import build, example_arm, modes, sweep
from flexarm.errors import FlexarmError
from tests.linear.linear_arms import de_luca, one_link


def blade(shapes: str = "{kind: loaded, bending_y: 2, bending_z: 2}") -> object:
    """Make a link that is a little stiffer in the plane of rotation."""
    return one_link(section="mass_per_length: 1, EIz: 1.7, EIy: 1", shapes=shapes)


@pytest.mark.campaign
def test_modes_keep_their_identity_where_frequencies_cross() -> None:
    """Flap starts below lag and stiffens faster; each is the mode of a link with one plane."""
    speeds = np.linspace(0, 8, 6)
    model = build(blade(), nodes=8)  # type: ignore[arg-type]
    both = sweep(model, speeds={"joint1": speeds})
    lag, flap = both["link 1 bending y 1"], both["link 1 bending z 1"]
    assert flap.frequency_hz[0] < lag.frequency_hz[0]
    assert flap.frequency_hz[-1] > lag.frequency_hz[-1]
    for plane, stiff, track in (("y", "EIz: 1.7", lag), ("z", "EIy: 1", flap)):
        alone = build(
            one_link(
                section=f"mass_per_length: 1, {stiff}",
                shapes=f"{{kind: loaded, bending_{plane}: 2}}",
            ),
            nodes=8,
        )
        for k in (0, 3, 5):
            expected = modes(alone, speeds={"joint1": float(speeds[k])}).modes[0].frequency_hz
            assert track.frequency_hz[k] == pytest.approx(expected, rel=1e-9)


def test_equal_planes_are_told_apart_from_the_first_turn_on() -> None:
    arm = one_link(
        section="mass_per_length: 1, EIz: 1, EIy: 1",
        shapes="{kind: loaded, bending_y: 1, bending_z: 1}",
    )
    found = sweep(arm, speeds={"joint1": [0.0, 2.0, 4.0]})
    flap, lag = found["link 1 bending z 1"], found["link 1 bending y 1"]
    assert flap.frequency_hz[0] == pytest.approx(lag.frequency_hz[0], rel=1e-9)
    # With one shape each: flap^2 - lag^2 = speed^2, whatever the stiffening.
    gap = (2 * math.pi) ** 2 * (flap.frequency_hz**2 - lag.frequency_hz**2)
    assert gap == pytest.approx([0, 4, 16], abs=1e-8)


@pytest.mark.campaign
def test_a_sweep_does_not_depend_on_its_number_of_points() -> None:
    """Coarse steps are halved until shapes are alike, so both follow the same modes."""
    arm = de_luca("{kind: loaded, root: held, bending_y: 2}")
    fine = sweep(arm, joints="locked", at={"joint2": np.linspace(0, math.pi, 9)})
    coarse = sweep(arm, joints="locked", at={"joint2": [0.0, math.pi]})
    for track in coarse.tracks:
        assert track.frequency_hz == pytest.approx(fine[track.name].frequency_hz[[0, -1]], rel=1e-9)


def test_a_map_over_two_joints_is_made_of_sweeps_over_one() -> None:
    arm = de_luca("{kind: loaded, root: held, bending_y: 2}")
    first, second = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.8, 1.6, 2.4])
    grid = sweep(arm, joints="locked", at={"joint1": first, "joint2": second})
    line = sweep(arm, joints="locked", at={"joint2": second})
    assert grid.units == ("rad", "rad")
    for track in line.tracks:
        for row in grid[track.name].frequency_hz:  # the arm does not care where joint 1 is
            assert row == pytest.approx(track.frequency_hz, rel=1e-9)


def test_a_mode_that_ceases_to_oscillate_is_still_followed() -> None:
    arm = one_link(
        shapes="{kind: loaded, bending_y: 2}", section="mass_per_length: 1, EIz: 1",
        stiffening=False,
    )  # fmt: skip
    found = sweep(arm, speeds={"joint1": [3.0, 3.4, 3.6, 4.0]})["link 1 bending y 1"]
    assert found.eigenvalue[1].imag > 0
    assert found.eigenvalue[3].real == pytest.approx(math.sqrt(16 - 3.5160152685**2), rel=1e-6)
    assert found.damping_ratio == pytest.approx([0, 0, -1, -1])


@pytest.mark.campaign
def test_figures_show_what_was_followed() -> None:
    found = sweep(blade(), speeds={"joint1": [0.0, 4.0, 8.0]})  # type: ignore[arg-type]
    (panel,) = found.plot().axes
    drawn = {line.get_label(): line.get_ydata() for line in panel.lines}
    for track in found.tracks:
        assert drawn[track.name] == pytest.approx(track.frequency_hz)
    assert panel.get_xlabel() == "speed of joint1 [rad/s]"
    legend = panel.get_legend()
    assert legend is not None
    assert "speed of joint1 0 rad/s" in legend.get_title().get_text()
    multiples = [line for line in panel.lines if line.get_color() == "0.8"]
    for order, line in enumerate(multiples, 1):
        _, hertz = line.get_data()
        assert np.size(hertz) >= 100  # smooth on a logarithmic axis too
        assert np.max(np.asarray(hertz)) == pytest.approx(order * 8 / (2 * np.pi))
    arm = de_luca("{kind: loaded, root: held, bending_y: 1}")
    grid = sweep(arm, joints="locked", at={"joint1": [0.0, 1.0], "joint2": [0.0, 1.0, 2.0]})
    titles = [panel.get_title() for panel in grid.plot().axes if panel.get_title()]
    assert titles == ["link 1 bending y 1", "link 2 bending y 1"]
    (bars,) = modes(arm, joints="locked").plot().axes
    labels = [text.get_text() for text in bars.get_yticklabels()]
    assert labels[0].startswith("link 1 bending y 1, 0.4")


def test_a_wide_axis_of_frequencies_has_plain_numbers() -> None:
    arm = one_link(section="mass_per_length: 1, EIz: 10", shapes="{kind: loaded, bending_y: 4}")
    figure = sweep(arm, speeds={"joint1": [0.0, 2.0]}).plot()
    figure.draw_without_rendering()
    (panel,) = figure.axes
    assert panel.get_yscale() == "log"
    labels = [text.get_text() for text in panel.get_yticklabels(which="both")]
    written = [float(label) for label in labels if label]  # no powers written as mathematics
    assert len(written) >= 3


@pytest.mark.campaign
def test_branches_that_veer_end_at_the_same_frequencies_however_many_points_there_are() -> None:
    """The sliding link's bending mixes with that of the link that carries it."""
    model = build(example_arm("theodore-rrp"))
    few, many = (sweep(model, at={"joint3": np.linspace(0.3, 0.9, count)}) for count in (5, 9))
    assert [track.name for track in few.tracks] == [track.name for track in many.tracks]
    for one, other in zip(few.tracks, many.tracks, strict=True):
        assert one.frequency_hz == pytest.approx(other.frequency_hz[::2], rel=1e-9)
        assert few.named_at(one) == "joint3 0.3 m"
    falling = few["links 2+3 bending z 2"].frequency_hz
    assert (falling[0], falling[-1]) == pytest.approx((182.05, 38.44), abs=0.01)


def test_what_cannot_be_swept_is_refused() -> None:
    arm = de_luca("{kind: loaded, bending_y: 1}")
    with pytest.raises(FlexarmError, match="must give a range of speeds for one joint"):
        sweep(arm, at={"joint2": 1.0})
    with pytest.raises(FlexarmError, match="joint2 must have at least 2 values, got 1"):
        sweep(arm, at={"joint2": [1.0]})
