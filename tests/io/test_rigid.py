"""The rigid twin of an arm, and keys that `--set` takes away."""

import numpy as np
import pytest

import flexarm
from flexarm.errors import ModelError
from flexarm.io.overrides import load_changed, read_change
from flexarm.io.sample import arm_path
from flexarm.model import build, start_state

# Elastic joints and a payload; a sliding link; universal, spherical and screw joints.
SAMPLES = ("chen-two-link", "telescope", "crossed-joints")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_rigid_twin_has_the_inertia_of_the_arm_as_it_is_undeformed(name: str) -> None:
    arm = flexarm.sample(name)
    flexible, rigid = build(arm), build(flexarm.rigid(arm))
    assert not any(part.flexible for part in rigid.links)
    # A motor moves with its joint, shapes do not.
    along = np.array([
        [float(each.removesuffix(".motor") == other) for other in rigid.names]
        for each in flexible.names
    ])  # fmt: skip
    q = start_state(rigid)[0]
    wanted = flexarm.formulation("composite", flexible).mass_matrix(along @ q)
    found = flexarm.formulation("composite", rigid).mass_matrix(q)
    assert found == pytest.approx(along.T @ wanted @ along, rel=1e-12, abs=1e-12)


def test_a_rigid_arm_is_its_own_twin_but_for_its_name() -> None:
    arm = flexarm.sample("puma-560")
    twin = flexarm.rigid(arm)
    assert twin.name == f"{arm.name}, rigid"
    assert twin.links == arm.links


def changed(*texts: str) -> flexarm.Arm:
    return load_changed(arm_path("driven-link-payload"), [read_change(text) for text in texts])


def test_an_empty_value_takes_a_key_away() -> None:
    assert changed("payload=").payload is None
    assert changed("links.1.joint.input=").links[0].joint.axes[""].input is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bodies=", "--set bodies=: the model file has no bodies"),
        ("base.body.mass=", "--set base.body.mass=: the model file has no base"),
        ("links.7=", "no '7' in links"),
        ("links.1.joint=", "--set links.1.joint=: links\\[1\\].joint"),
    ],
)
def test_a_key_that_is_not_there_or_is_needed_cannot_be_taken_away(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        changed(text)
