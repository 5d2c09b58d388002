"""BLAS has one thread while flexarm computes, and the threads of the user before and after."""

import subprocess
import sys

PROGRAM = """
import numpy, scipy.linalg, threadpoolctl
import flexarm
from flexarm.threads import one_blas_thread

def counts():
    return [each["num_threads"] for each in threadpoolctl.threadpool_info()]

@one_blas_thread
def during():
    return counts()

arm = flexarm.example_arm("korayem-two-link")
with threadpoolctl.threadpool_limits(3, "blas"):
    before = counts()
    assert {*during()} == {1}
    try:
        flexarm.simulate_many(arm, t_end=0.1, starts="wrong")
    except flexarm.FlexarmError:
        pass
    flexarm.build(arm)
    assert counts() == before
    print(before)
"""


def test_a_call_has_one_blas_thread_and_gives_the_others_back() -> None:
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert "3" in said.stdout
