"""Sample arms by name."""

from flexarm.arm import Arm
from flexarm.io.model_file import load
from flexarm.samples import sample_path


def sample(name: str) -> Arm:
    """Load one of the arms that come with flexarm.

    Parameters
    ----------
    name
        One of `flexarm.sample_names()`.

    Raises
    ------
    ModelError
        If there is no sample of that name.
    """
    return load(sample_path(name))
