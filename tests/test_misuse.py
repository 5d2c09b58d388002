"""Wrong arguments of public functions: one line that names the argument, no traceback."""

import os
import warnings
from collections import UserList
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm import control
from flexarm.check.check import check
from flexarm.io.model_file import loads
from flexarm.linear.state_space import point_of_run, start_point
from flexarm.linear.tangent import OperatingPoint
from flexarm.linear.tracks import Sweep
from flexarm.planning import Limits
from flexarm.runs.write import LiveFile
from flexarm.studies.compare import compare
from flexarm.viewer.movie import save_movie
from flexarm.viewer.page import mode_page, run_page, save_page

LINK = "{joint: {kind: revolute}, length: 1, body: {mass: 1, com: [0.5, 0, 0]}}"

# After what the message must begin with, uses that must be told so.
MISUSES = """\
# arm
simulate(None, t_end=1)
simulate("driven-link", t_end=1)
simulate(model, t_end=1)
# t_end
simulate(arm, t_end="1 kg")
simulate(arm, t_end=None)
simulate(arm, t_end=True)
simulate(arm, t_end=1j)
simulate(arm, t_end=[1.0])
simulate(arm, t_end=np.array([1.0, 2.0]))
simulate(arm, t_end=float("nan"))
simulate(arm, t_end=-1)
simulate(arm, t_end=1e300)
simulate(arm, t_end=10**400)
# dt
simulate(arm, t_end=1, dt="0.1 m")
simulate(arm, t_end=1, dt=0)
simulate(arm, t_end=1, dt=True)
# rtol
simulate(arm, t_end=1, rtol="tight")
simulate(arm, t_end=1, rtol=None)
simulate(arm, t_end=1, rtol=True)
# plan
study(None, out="x")
study(3, out="x")
study({}, out="x")
# out
study({}, out=None)
# workers
study({}, out="x", workers=0)
# progress
study({}, out="x", progress=3)
# plan
optimise(None)
optimise({})
# progress
optimise({}, progress=3)
# count
batch(arm, 0, dt=0.1)
batch(arm, "2", dt=0.1)
# dt
batch(arm, 2, dt=0)
batch(arm, 2, dt="x")
# device
batch(arm, 2, dt=0.1, device="tpu")
# parameters
batch(arm, 2, dt=0.1, parameters=[{}])
batch(arm, 2, dt=0.1, parameters=3)
batch(arm, 2, dt=0.1, parameters=[1, 2])
# which
batch(arm, 2, dt=0.1).reset("x")
batch(arm, 2, dt=0.1).reset([2])
batch(arm, 2, dt=0.1).reset([0.5])
batch(arm, 2, dt=0.1).reset([[0]])
# arm
batch(None, 2, dt=0.1)
# u
batch(arm, 2, dt=0.1).step([1.0, 2.0, 3.0])
batch(arm, 2, dt=0.1).step("x")
# starts
batch(arm, 2, dt=0.1).reset([0], [{}, {}])
batch(arm, 2, dt=0.1).reset([0], [{"elbow": 1.0}])
# arm
plan(None, {"joint1": 1.0})
plan(arm, {"joint1": 1.0}, duration=1.0)
# to
plan(bend, None, duration=1.0)
plan(bend, {"joint1": 0.0}, duration=1.0)
# there is no driven joint 'elbow'
plan(bend, {"elbow": 1.0}, duration=1.0)
# aim
plan(bend, {"joint1": 1.0}, aim="speed", duration=1.0)
# joining
plan(bend, {"joint1": 1.0}, joining="linear", duration=1.0)
# duration
plan(bend, {"joint1": 1.0})
plan(bend, {"joint1": 1.0}, aim="time")
plan(bend, {"joint1": 1.0}, duration=-1)
# intervals
plan(bend, {"joint1": 1.0}, duration=1.0, intervals=2)
# tolerance
plan(bend, {"joint1": 1.0}, duration=1.0, tolerance=0)
# atol
plan(bend, {"joint1": 1.0}, duration=1.0, atol="0.1 s")
# limits
plan(bend, {"joint1": 1.0}, duration=1.0, limits=3)
# effort
plan(bend, {"joint1": 1.0}, duration=1.0, limits=Limits(effort=-1))
plan(bend, {"joint1": 1.0}, duration=1.0, limits=Limits(effort={"elbow": 1}))
# strain
plan(bend, {"joint1": 1.0}, duration=1.0, limits=Limits(strain=0.001))
# arm
mpc(None, period=0.1)
mpc(example_arm("canadarm-free-base"), period=0.1)
# period
mpc(bend, period=0)
mpc(bend, period="1 kg")
# intervals
mpc(bend, period=0.1, intervals=1)
# limits
mpc(bend, period=0.1, limits=3)
mpc(bend, period=0.1, limits=Limits(strain=0.001))
# bandwidth
mpc(bend, period=0.1, bandwidth=0)
# weights
mpc(bend, period=0.1, weights=3)
# target
mpc(bend, period=0.1).law(None)
mpc(bend, period=0.1).law({"joint1": "x"})
# q
mpc(bend, period=0.1).step([0.0], [0.0], {"joint1": 1.0})
# arm
shape_inputs(None)
shape_inputs(arm)
# modes
shape_inputs(moved, modes=0)
shape_inputs(moved, modes=9)
# kind
shape_inputs(moved, kind="zvddd")
# follow_posture
shape_inputs(moved, follow_posture=1)
# vibration
shape_inputs(moved, kind="ei", vibration=2)
# nodes
reduce(np.eye(9), np.eye(3), "x", hub=[0], tip=[1])
reduce(np.eye(9), np.eye(3), None, hub=[0], tip=[1])
reduce(np.eye(9), np.eye(3), [[0, 0], [1, 1]], hub=[0], tip=[1])
# modes
reduce(np.eye(9), np.eye(3), np.eye(3), hub=[0, 1, 2], tip=[1], modes="8")
# hub
reduce(np.eye(9), np.eye(3), np.eye(3), hub="a", tip=[1])
reduce(np.eye(9), np.eye(3), np.eye(3), hub=[0.5], tip=[1])
reduce(np.eye(9), np.eye(3), np.eye(3), hub=[0, 9, 1], tip=[1])
# stiffness
reduce(None, np.eye(6), places, hub=[0, 1, 2], tip=[3, 4, 5])
reduce("K", np.eye(6), places, hub=[0, 1, 2], tip=[3, 4, 5])
# faces
reduce(np.eye(18), np.eye(6), places, hub=[0, 1, 2], tip=[3, 4, 5], faces="x")
# mass
reduce(np.eye(18), None, places, hub=[0, 1, 2], tip=[3, 4, 5])
# step
simulate(arm, t_end=1, step="x", method="rk4")
simulate(arm, t_end=1, step=[1], method="rk4")
# method
simulate(arm, t_end=1, method=None)
simulate(arm, t_end=1, method=["rk4"])
simulate(arm, t_end=1, method=4)
# inputs
simulate(arm, t_end=1, inputs=[1.0])
simulate(arm, t_end=1, inputs="joint1")
simulate(arm, t_end=1, inputs=3.0)
simulate(arm, t_end=1, inputs={1: 1.0})
simulate(arm, t_end=1, inputs={"joint1": "one"})
simulate(arm, t_end=1, inputs={"joint1": None})
simulate(arm, t_end=1, inputs={"joint1": [1, 2]})
simulate(arm, t_end=1, inputs={"joint1": np.nan})
simulate(arm, t_end=1, inputs={"joint1": np.array(1.0)})
simulate(arm, t_end=1, inputs={"joint1": np.array([1.0, 2.0])})
simulate(arm, t_end=1, inputs={"joint1": True})
simulate(arm, t_end=1, inputs={"joint1": {"kind": "sinus"}})
simulate(arm, t_end=1, inputs={"joint1": {1: 2}})
simulate(arm, t_end=1, inputs={"joint1": object()})
simulate(arm, t_end=1, inputs=object())
# control
simulate(arm, t_end=1, control=lambda t, q, v: [0, 0])
simulate(arm, t_end=1, control="law")
# inputs
simulate(arm, t_end=1, control=law, inputs=[1])
# locks
simulate(arm, t_end=1, locks=[("joint1", 0, 1)])
simulate(arm, t_end=1, locks="joint1")
simulate(arm, t_end=1, locks={"joint1": (0.1, 0.2)})
simulate(arm, t_end=1, locks={"joint1": 0.5})
simulate(arm, t_end=1, locks={"joint1": [(0.1, 0.2, 0.3)]})
simulate(arm, t_end=1, locks={"joint1": [("a", "b")]})
simulate(arm, t_end=1, locks={"joint1": [(0.1, None)]})
simulate(arm, t_end=1, locks={"joint1": None})
simulate(arm, t_end=1, locks={"joint1": [(float("nan"), 1)]})
simulate(arm, t_end=1, locks={1: [(0, 1)]})
# progress
simulate(arm, t_end=1, progress=1)
simulate(arm, t_end=1, progress="yes")
# live
simulate(arm, t_end=1, live=True)
simulate(arm, t_end=1, live="run.nc")
# energy_audit
simulate(arm, t_end=1, energy_audit="no")
simulate(arm, t_end=1, energy_audit=np.array([1,2]))
# parameters, starts, inputs, control and rtol
simulate_many(arm, t_end=1)
# starts
simulate_many(arm, t_end=1, starts={"joint1": 1})
simulate_many(arm, t_end=1, starts=[1, 2])
simulate_many(arm, t_end=1, starts="ab")
simulate_many(arm, t_end=1, starts=[{1: 1.0}])
simulate_many(arm, t_end=1, starts=[{"joint1": "x"}])
simulate_many(arm, t_end=1, starts=[{"joint1": None}])
simulate_many(arm, t_end=1, starts=[{"joint1": True}])
# parameters
simulate_many(arm, t_end=1, parameters=[{1: 1.0}])
# payload.mass
simulate_many(arm, t_end=1, parameters=[{"payload.mass": "heavy"}])
# values
simulate_many(arm, t_end=1, parameters=[{"": 1}])
# payload
simulate_many(arm, t_end=1, parameters=[{"payload": object()}])
# inputs
simulate_many(arm, t_end=1, inputs=[{"joint1": "x"}])
simulate_many(arm, t_end=1, inputs=[None])
# workers
simulate_many(arm, t_end=1, inputs=[{}], workers=True)
simulate_many(arm, t_end=1, inputs=[{}], workers=2.5)
simulate_many(arm, t_end=1, inputs=[{}], workers="all")
# progress
simulate_many(arm, t_end=1, inputs=[{}], progress=3)
# arm
simulate_many("x", t_end=1, inputs=[{}])
# t_end
simulate_many(arm, t_end=None, inputs=[{}])
# Sampled
Sampled(None, 0.1)
Sampled(lambda t, q, v: 0, "-0.1")
Sampled(lambda t, q, v: 0, None)
Sampled(lambda t, q, v: 0, True)
# StateWrench
StateWrench(None, "link1")
StateWrench(lambda t, q, v: 0, "link1")
# wrenches
simulate(arm, t_end=1, wrenches=1)
simulate(arm, t_end=1, wrenches=["x"])
# the control law
simulate(arm, t_end=1, control=Sampled(lambda t,q,v: "x", 0.1))
# arm
build(None)
# stiffening
build(arm, stiffening="no")
# tip_rotation
build(arm, tip_rotation=None)
build(arm, tip_rotation=["cayley"])
# nodes
build(arm, nodes="many")
simulate(arm, t_end=1, nodes=0)
# arm
change_arm(None, {})
# values
change_arm(arm, None)
change_arm(arm, [("gravity", 1)])
change_arm(arm, {1: 2})
# gravity
change_arm(arm, {"gravity": object()})
# values
change_arm(arm, {"": 1})
change_arm(arm, "gravity=1")
# arm
converge(None)
converge(model)
# t_end
converge(bend, t_end="long")
converge(bend, t_end=None)
# wish
converge(bend, wish="small")
converge(bend, wish=None)
# want
converge(bend, want="much")
converge(bend, want="1 m")
converge(bend, want=0)
converge(bend, want=1)
converge(bend, want=float("nan"))
converge(bend, want=[0.01])
converge(bend, want=np.zeros(4))
converge(bend, want=Hostile())
# progress
converge(bend, progress=1)
# arm
differentiable("x", t_end=1)
identify(model, {}, fit=["links.1.length"], outputs={"a": "joint1"})
# t_end
differentiable(arm, t_end="1 Hz")
# parameters
differentiable(arm, t_end=1, parameters="payload.mass")
differentiable(arm, t_end=1, parameters=[3])
# method
differentiable(arm, t_end=1, method="rodas4")
# control
differentiable(arm, t_end=1, control=3)
# data
identify(arm, 3, fit=["links.1.length"], outputs={"a": "joint1"})
identify(arm, [], fit=["links.1.length"], outputs={"a": "joint1"})
identify(arm, {}, fit=["links.1.length"], outputs={"a": "joint1"})
# fit
identify(arm, {}, fit="links.1.length", outputs={"a": "joint1"})
identify(arm, {}, fit={"links.1.length": 3}, outputs={"a": "joint1"})
identify(arm, {}, fit={"links.1.length": (2, 1)}, outputs={"a": "joint1"})
# horizon
identify(arm, {}, fit=["links.1.length"], outputs={"a": "joint1"}, horizon=0)
identify(arm, {}, fit=["links.1.length"], outputs={"a": "joint1"}, horizon="3 m")
identify(arm, {}, fit=["links.1.length"], outputs={"a": "joint1"}, horizon=True)
# outputs
identify(arm, {}, fit=["links.1.length"], outputs=3)
identify(arm, {}, fit=["links.1.length"], outputs={})
# sensor
identify(arm, {}, fit=["links.1.length"], outputs={"a": 3})
# loss
identify(arm, {}, fit=["links.1.length"], outputs={"a": "joint1"}, loss="x")
# start
identify(arm, {}, fit=["links.1.length"], outputs={"a": "joint1"}, start=3)
# most_evaluations
identify(arm, {}, fit=["links.1.length"], outputs={"a": "joint1"}, most_evaluations=0)
# progress
identify(arm, {}, fit=["links.1.length"], outputs={"a": "joint1"}, progress=3)
# arm
equilibrium(None)
equilibrium("x")
# at
equilibrium(arm, at=[1.0])
equilibrium(arm, at={"joint1": "up"})
equilibrium(arm, at={"joint1": None})
equilibrium(arm, at={"joint1": [1, 2]})
equilibrium(arm, at={1: 1})
# speeds
equilibrium(arm, speeds=3)
equilibrium(arm, speeds={"joint1": "fast"})
# settle
equilibrium(arm, settle="joint1")
equilibrium(arm, settle=3)
equilibrium(arm, settle=[3])
# straight
equilibrium(arm, straight="no")
# t
equilibrium(arm, t="now")
equilibrium(arm, t=None)
equilibrium(arm, t=float("nan"))
# there is no formulation
formulation(None, model)
# formulation
formulation("articulated", arm)
# parameters
formulation("composite", model, parameters="payload.mass")
formulation("composite", model, parameters=[1])
# paper
formulation("composite", model, paper="yes")
# there is no formulation
formulation(["composite"], model)
# arm
linearise(None)
# model
fit_curve(None, "link1", y=[0.0])
# link
fit_curve(model, "nose", y=[0.0])
fit_curve(model, None, y=[0.0])
# about
linearise(arm, about="start")
linearise(arm, about=0.0)
# outputs
linearise(arm, outputs="tip.x")
linearise(arm, outputs=3)
linearise(arm, outputs=[1])
linearise(arm, outputs=["nose"])
# path
load(None)
load(3)
load(["a"])
load("")
# nofile.yaml
load("nofile.yaml")
# .
load(".")
# path
load_run(None)
load_run(3)
# x.nc
load_run("x.nc")
# path
load_run("")
# folder
load_study(None)
# nowhere
load_study("nowhere")
# arm
live(None, "x.html")
live("driven-link", "x.html")
# path
live(arm, None)
live(arm, "")
# all_shapes
live(arm, "x.html", all_shapes=2)
# force
live(arm, "x.html", force="yes")
# arm
modes(None)
# joints
modes(arm, joints="loose")
modes(arm, joints=3)
modes(arm, joints=["free"])
# joint1
modes(arm, joints={"joint1": 3})
# positions: is not an argument of sweep. Did you mean at=?
sweep(arm, positions={"joint1": [0.0, 1.0]})
# positions: is not an argument of modes. Did you mean at=?
modes(arm, positions={"joint1": 1.0})
# positions: is not an argument of equilibrium. Did you mean at=?
equilibrium(arm, positions={"joint1": 1.0})
# speed: is not an argument of sweep. Did you mean speeds=?
sweep(arm, speed={"joint1": [0.0, 1.0]})
# of: is not an argument of modes. There are arm, joints, at, speeds
modes(arm, of=3)
# at
modes(arm, at=3)
modes(arm, at={"joint1": "x"})
modes(arm, at={"joint1": None})
# speeds
modes(arm, speeds=[1])
# straight
modes(arm, straight=2)
# following
modes(arm, following=2)
# name
example_arm(None)
example_arm(3)
example_arm(["driven-link"])
# there is no sample
example_arm("nothing")
# arm
save(None, "x.yaml")
save(model, "x.yaml")
# path
save(arm, None)
save(arm, 3)
save(arm, "")
# no/folder/x.yaml
save(arm, "no/folder/x.yaml")
# force
save(arm, "x.yaml", force="yes")
# arm
sweep(None, at={"joint1": [0, 1]})
# sweep
sweep(arm)
# at
sweep(arm, at=3)
sweep(arm, at={"joint1": "ab"})
sweep(arm, at={"joint1": ["a", "b"]})
sweep(arm, at={"joint1": [[0, 1], [2, 3]]})
sweep(arm, at={"joint1": [0.0, None]})
sweep(arm, at={"joint1": [0.0, np.nan]})
# sweep
sweep(arm, at={"joint1": [0.0]})
# there is no joint
sweep(arm, at={"elbow": [0.0, 1.0]})
# at
sweep(arm, at={1: [0.0, 1.0]})
# speeds
sweep(arm, speeds=[0, 1])
# joints
sweep(arm, at={"joint1": [0, 1]}, joints=3)
# path
run.save(None)
run.save(3)
run.save("")
# force
run.save("x.nc", force="y")
# beside
run.to_html("page.html", beside=run)
run.to_html("page.html", beside=(each for each in [run]))
run.to_movie("film.gif", beside=[1])
# path
run.to_csv(None)
run.to_html(None)
run.plot(3)
run.plot("x.xyz")
# arm
compare(None)
# seed
compare(arm, seed="x")
compare(arm, seed=-1)
# progress
compare(arm, progress=1)
# arm
check(None)
check("driven-link")
start_point(None)
# t
point_of_run(run, "x")
# run
point_of_run(None, 0.0)
# t
point_of_run(run, 5.0)
# model
joint_move(arm, {"joint1": 0.5}, Timing("quintic", 1.0))
# to
joint_move(model, None, Timing("quintic", 1.0))
# to: joint1
joint_move(model, {"joint1": "x"}, Timing("quintic", 1.0))
# there is no driven
joint_move(model, {"elbow": 1.0}, Timing("quintic", 1.0))
# timing
joint_move(model, {"joint1": 0.5}, 1.0)
joint_move(model, {"joint1": 0.5}, None)
# to
tip_move(model, "x", Timing("quintic", 1.0))
# timing
Timing("fast", 1.0)
Timing("quintic", "1 m")
Timing("quintic", None)
Timing("quintic", 1e300)
Timing("quintic", 1e-300)
Timing(3, 1.0)
# trajectory
pd_law(None, kp=1, kd=1)
# kp
pd_law(traj, kp="x", kd=1)
pd_law(traj, kp=None, kd=1)
pd_law(traj, kp=[1, 2, 3], kd=1)
# trajectory
decoupling_law(None, kp=1, kd=1)
# kp
decoupling_law(traj, kp="stiff", kd=1)
# stiffness_error
decoupling_law(traj, kp=1, kd=1, stiffness_error="x")
# trajectory
lqr(None)
# bandwidth
lqr(traj, bandwidth="x")
lqr(traj, bandwidth=None)
# points
lqr(traj, points="x")
lqr(traj, points=1.5)
# weights
lqr(traj, weights=3)
# law
sampled(None, 0.1, model)
# period
sampled(law, "x", model)
sampled(law, None, model)
# model
sampled(law, 0.1, arm)
# delay
sampled(law, 0.1, model, delay="x")
# limits
sampled(law, 0.1, model, limits="x")
# noise
sampled(law, 0.1, model, noise="x")
# seed
sampled(law, 0.1, model, seed="x")
# model
sensors(None)
sensors(arm)
# gauges
sensors(model, gauges=3)
# law
limited_law(None, model)
# model
limited_law(law, None)
# sensed
measured_law(None, None)
measured_law(law, 3)
# trajectory
rigid_feedforward(None)
# model
stable_inversion(None, 0.5, Timing("quintic", 1.0))
# timing
stable_inversion(model, 0.5, None)
# model
FrozenLoop(None)
FrozenLoop(arm)
Statics(None)
Statics(arm)
# at
Statics(model).at_joints({"joint1": "x"})
# point
Statics(model).at_tip("x")
# arm
start_at(None, model, [0, 0])
# model
start_at(arm, None, [0, 0])
# q
start_at(arm, model, [0.0])
start_at(arm, model, "ab")
# law
closed_loop_eigenvalues(None, run)
# run
closed_loop_eigenvalues(law, None)
# every
closed_loop_eigenvalues(law, run, every=0)
# trajectory
stiffness_error_along(None, kp=1, kd=1)
# path
load(BytesPath())
load("a\\0b")
run.save("a\\0b")
linearise(arm).to_mat(None)
LiveFile(None)
# files
load("x.yaml", files=5)
loads("", files=[5])
loads("", files=["nope"])
# text
loads(5)
# arm
simulate(Hostile(), t_end=1)
# t_end
simulate(arm, t_end=Hostile())
# inputs
simulate(arm, t_end=1, inputs=HostileMapping())
# settle
equilibrium(arm, settle=HostileSequence())
# t
formulation("composite", model).forward_dynamics([0, 0], [0, 0], [0, 0], Hostile())
# input 'q'
formulation("composite", model).forward_dynamics(Hostile(), [0, 0], [0, 0], 0.0)
# q
start_at(arm, model, Hostile())
# stations
run.along(10**8)
run.section_forces(10**8)
run.along(np.zeros(20_000))
# no equilibrium was found
equilibrium(bend, speeds={"joint1": 1e200})
# delay
sampled(law, 1e-3, model, delay=1e6)
# Sampled
simulate(arm, t_end=1, control=Sampled(lambda t, q, v: [0, 0], 1e-300))
# to
tip_move(model, (0.7, 0.6, 0.1), Timing("quintic", 1.0), axes="xy")
# axes
tip_move(model, (0.7, 0.6), Timing("quintic", 1.0), axes="")
tip_move(model, (0.7, 0.6), Timing("quintic", 1.0), axes="q")
tip_move(model, (0.7, 0.6), Timing("quintic", 1.0), axes="xyzz")
tip_move(model, (0.7, 0.6), Timing("quintic", 1.0), axes=None)
tip_move(model, (0.7, 0.6), Timing("quintic", 1.0), axes=5)
Statics(model).at_tip((0.7, 0.6), axes=5)
# times
traj.at("x")
traj.at(1j)
traj.at(np.zeros((2, 2)))
traj.at(np.nan)
traj.tip("x")
# s
traj.path.at("x")
traj.path.at(None)
traj.path.at(np.nan)
# feedforward
pd_law(traj, kp=1, kd=1, feedforward=5)
pd_law(traj, kp=1, kd=1, feedforward=law)
pd_law(traj, kp=1, kd=1, feedforward=traj.motion)
# regulator
decoupling_law(traj, kp=1, kd=1, regulator=5)
decoupling_law(single, kp=1, kd=1, regulator=lqr(traj))
# switch
decoupling_law(traj, kp=1, kd=1, switch="x")
decoupling_law(traj, kp=1, kd=1, switch=np.nan)
# weights
Weights(None, None)
Weights(np.eye(4)[:3], np.eye(2))
Weights(np.eye(4), np.zeros((2, 2)))
Weights(-np.eye(4), np.eye(2))
Weights(np.eye(4), -np.eye(2))
Weights(np.eye(4) * np.nan, np.eye(2))
Weights(np.eye(4), np.array([[1.0, 1.0], [0.0, 1.0]]))
lqr(traj, weights=np.eye(4))
lqr(traj, weights=Weights(np.eye(3), np.eye(2)))
lqr(traj, weights=Weights(np.eye(4), np.eye(1)))
# no optimal gain
lqr(traj, weights=Weights(1e300 * np.eye(4), 1e-300 * np.eye(2)))
# bandwidth
lqr(traj, bandwidth=1e300)
lqr(traj, bandwidth=1e-300)
# s
lqr(traj).at("x")
lqr(traj).at(np.nan)
# sensed
sampled(law, 0.1, model, sensed=5)
sampled(law, 0.1, model, sensed=partly)
# law
measured_law(pd_law(single, kp=1, kd=1), sensors(model))
# gauge: at
Gauge("link1", "x")
Gauge("link1", np.nan)
Gauge("link1", 1.5)
# gauge: distance
Gauge("link1", 0.5, distance=np.nan)
Gauge("link1", 0.5, distance="x")
Gauge("link1", 0.5, distance=0)
# gauge: axis
Gauge("link1", 0.5, axis=1)
# gauge: link
Gauge(1, 0.5)
# poles
link_decoupling_law(traj, poles="x")
link_decoupling_law(traj, poles=None)
link_decoupling_law(traj, poles=5)
link_decoupling_law(traj, poles=["-1", "-2", "-3", "-4"])
link_decoupling_law(traj, poles=[-1e300] * 4)
link_decoupling_law(traj, poles=[[-1], [-2, -3]])
# to
stable_inversion(model, 1e300, Timing("quintic", 1.0))
# points
stable_inversion(model, 1.0, Timing("quintic", 1.0), points=3)
stable_inversion(build(bend), 1.0, Timing("quintic", 0.01), points=101)
# q: link1: joint.start.position
start_at(arm, model, [1e300, 0.0])
# stiffness_error
FrozenLoop(model).eigenvalues([0, 0], kp=1, kd=1, stiffness_error="x")
stiffness_error_along(traj, kp=1, kd=1, stiffness_error=np.nan)
# allowed
stiffness_error_along(traj, kp=1, kd=1, allowed="x")
stiffness_error_along(traj, kp=1, kd=1, allowed=np.nan)
FrozenLoop(model).largest_error([0, 0], kp=1, kd=1, allowed=np.nan)
# q
FrozenLoop(model).coupling("x")
FrozenLoop(model).eigenvalues([0], kp=1, kd=1)
Statics(model).effort("x")
Statics(model).effort(np.nan)
# friction
FrozenLoop(model, friction="x")
# friction_speed
lqr(traj, friction="secant", friction_speed="x")
# guess
Statics(model).at_joints({}, guess="x")
Statics(model).at_tip((0.7, 0.6), "xy", guess=[0.0])
# at
Statics(model).at_joints(None)
# sag
joint_move(model, {"joint1": 0.5}, Timing("quintic", 1.0), sag="x")
# count
swept.plot(count="x")
swept.plot(count=-1)
# track
swept.named_at(5)
# about.u
linearise(arm, about=OperatingPoint([0, 0], [0, 0], [1j, 0]))
# about.t
linearise(arm, about=OperatingPoint([0, 0], [0, 0], [0, 0], t=np.nan))
# outputs
linearise(arm, outputs=["joint1", "joint1"])
# paper
formulation("lagrange", model, paper="x")
# delta_squared
formulation("lagrange", model, delta_squared=5)
# tip_rotation
build(arm, tip_rotation=np.zeros(4))
# stiffening
build(arm, stiffening=Hostile())
# values
change_arm(arm, HostileValues())
# at
equilibrium(arm, at=HostileValues())
# joints
modes(arm, joints=np.zeros(4))
modes(arm, joints={3: "free"})
modes(arm, joints=HostileValues())
# joint1
modes(arm, joints={"joint1": np.zeros(4)})
# friction
modes(arm, friction=np.zeros(4))
# deflection
compare(arm, deflection=np.broadcast_to(0.02, (10**9,)))
compare(arm, deflection=Hostile())
# seed
compare(arm, seed=np.zeros(4))
# trials
converge(bend, trials=np.zeros(4))
# dt
simulate(arm, t_end=0.02, dt=Fraction(1, 3))
# method
simulate(arm, t_end=1, method=Hostile())
# there is no formulation
formulation(Hostile(), model)
# parameters
formulation("articulated", model, parameters=np.zeros(4))
formulation("articulated", model, parameters=0)
# t
formulation("composite", model).bias([0, 0], [0, 0], 10**400)
# there is no function
formulation("composite", model).function(["mass_matrix"])
formulation("composite", model).compiled("\\ud800")
# name
formulation("composite", model).compiled(["mass_matrix"])
# level
formulation("composite", model).compiled("mass_matrix", level=["fast"])
formulation("composite", model).compiled("mass_matrix", level=1j)
# timing
Timing(np.zeros(4), 1.0)
# gauge: axis
Gauge("link1", 0.5, axis=np.zeros(4))
# rates
sensors(model, rates=np.zeros(4))
sampled(law, 0.1, model, rates=np.zeros(4))
# side
pd_law(traj, kp=1, kd=1, side=np.zeros(4))
# gravity
pd_law(traj, kp=1, kd=1, gravity=np.zeros(4))
# start
joint_move(model, {"joint1": 0.5}, Timing("quintic", 1.0), start=np.zeros(4))
joint_move(model, {"joint1": 0.5}, Timing("quintic", 1.0), start=[])
tip_move(model, (0.7, 0.6), Timing("quintic", 1.0), axes="xy", start=np.zeros(4))
# poles
link_decoupling_law(traj, poles=Hostile())
link_decoupling_law(traj, poles=range(10**15))
# points
lqr(traj, points=np.zeros(4))
lqr(traj, points=int)
lqr(traj, points=10**400)
stiffness_error_along(traj, kp=1, kd=1, points=10**400)
stable_inversion(model, 0.5, Timing("quintic", 1.0), points=10**400)
# every
closed_loop_eigenvalues(law, run, every=np.array(1.0))
# q
start_at(arm, model, np.ma.masked_all(2))
# runs
run_page(None)
run_page(run)
run_page([None])
# labels
run_page([run], 5)
run_page([run], ["a", "b"])
# arm
rigid(None)
rigid("driven-link")
rigid(model)
# runs
save_movie([], "x.gif")
save_movie([None], "x.gif")
# labels
save_movie([run], "x.gif", ["a", "b"])
# path
save_movie([run], "x.avi")
run.to_movie(None)
run.export("x.doc")
run.export(5)
# found
mode_page(None)
# page
save_page(None, "x.html")
"""


class Hostile:
    """What raises whatever it is asked."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __array__(self, *_: object, **__: object) -> None:
        raise RuntimeError


class HostileMapping(dict[str, float]):
    """A mapping whose names cannot be listed."""

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError


class HostileValues(dict[str, float]):
    """A mapping whose values cannot be had."""

    def __iter__(self) -> Iterator[str]:
        return iter(["joint1"])

    def __getitem__(self, name: str) -> float:
        raise RuntimeError


class HostileSequence(UserList[str]):
    """A list whose items cannot be had."""

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError


class BytesPath:
    """A path in bytes."""

    def __fspath__(self) -> bytes:
        return b"arm.yaml"


def misuses() -> Iterator[tuple[str, str]]:
    """List what is named, and the use."""
    name = ""
    for line in MISUSES.splitlines():
        if line.startswith("# "):
            name = line[2:]
        else:
            yield name, line


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Give what the uses may use."""
    arm = loads(f"flexarm: 1\nname: a\ngravity: [0, 0, 0]\nlinks:\n  - {LINK}\n  - {LINK}\n")
    model = flexarm.build(arm)
    traj = control.joint_move(model, {"joint1": 0.5}, control.Timing("quintic", 1.0))
    one = flexarm.build(loads(f"flexarm: 1\nname: b\nlinks:\n  - {LINK}\n"))
    swept = Sweep(model, ("joint1",), ("rad",), "at", (np.arange(2.0),), (), (), ())
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("misuse"))
    yield {
        **{name: getattr(flexarm, name) for name in flexarm.__all__},
        **{name: getattr(control, name) for name in control.__all__},
        "check": check, "compare": compare, "point_of_run": point_of_run,
        "start_point": start_point, "np": np, "arm": arm, "model": model, "traj": traj,
        "moved": flexarm.change_arm(flexarm.example_arm("driven-link"), {"links.1.joint.servo": {
            "stiffness": 9, "damping": 1, "target": {"kind": "step", "value": 1}}}),
        "bend": flexarm.example_arm("driven-link"), "run": flexarm.simulate(arm, t_end=0.1),
        "loads": loads, "LiveFile": LiveFile, "Hostile": Hostile, "BytesPath": BytesPath,
        "HostileMapping": HostileMapping, "HostileSequence": HostileSequence,
        "HostileValues": HostileValues, "Fraction": Fraction, "mode_page": mode_page,
        "run_page": run_page, "save_movie": save_movie, "save_page": save_page,
        "places": np.concatenate([np.eye(3), np.eye(3) + 5]),
        "Limits": Limits, "OperatingPoint": OperatingPoint, "swept": swept,
        "partly": control.sensors(one),
        "single": control.joint_move(one, {"joint1": 0.5}, control.Timing("quintic", 1.0)),
        "law": control.pd_law(traj, kp=1.0, kd=1.0),
    }  # fmt: skip
    os.chdir(before)


@pytest.mark.parametrize(("name", "use"), list(misuses()), ids=lambda text: text)
def test_misuse_is_told_in_a_line(name: str, use: str, names: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(flexarm.FlexarmError) as caught:
            eval(use, names)
    said = str(caught.value).removeprefix("run 1 of 1: ")
    assert said.startswith(name)
    assert "\n" not in said
    assert list(Path.cwd().iterdir()) == []


def test_every_public_function_is_misused() -> None:
    used = " ".join(use for _, use in misuses())
    functions = [
        name for name in flexarm.__all__ if name[0].islower() and name != "example_arm_names"
    ]
    assert [name for name in functions if f"{name}(" not in used] == []


def test_numbers_of_numpy_and_fractions_are_numbers(names: dict[str, Any]) -> None:
    for t_end in (np.float32(0.25), Fraction(1, 4), np.float64(0.25)):
        run = flexarm.simulate(names["arm"], t_end=t_end, dt=Fraction(1, 8))  # type: ignore[arg-type]
        assert run.t.tolist() == [0, 0.125, 0.25]
    timing = control.Timing("quintic", Fraction(1, 2), Fraction(1, 4))  # type: ignore[arg-type]
    motion = control.joint_move(names["model"], {"joint1": Fraction(1, 2)}, timing)  # type: ignore[dict-item]
    assert motion.at(0.75)[0][0, 0] == 0.5
    law = flexarm.Sampled(lambda t, q, v: [0, 0], Fraction(1, 16))  # type: ignore[arg-type]
    assert flexarm.simulate(names["arm"], t_end=0.25, control=law).status == "finished"
