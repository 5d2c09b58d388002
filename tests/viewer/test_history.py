"""Curves of a live page: thinned to what can be seen, and nothing that can be seen is lost."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.in_node import run_in_node

SOURCE = Path(__file__).parents[2] / "viewer/src/history.js"
RUN = f"""
import fs from 'fs';
import {{ keepValues, kept, makeHistory }} from '{SOURCE.as_uri()}';
const given = JSON.parse(fs.readFileSync(0));
const history = makeHistory(2);
let most = 0;
given.t.forEach((t, k) => {{
  keepValues(history, t, [given.fast[k], given.slow[k]], given.span);
  most = Math.max(most, kept(history).t.length);
}});
const {{ t, rows }} = kept(history);
console.log(JSON.stringify({{ t: Array.from(t), rows: rows.map((row) => Array.from(row)), most }}));
"""


def thinned(folder: Path, t: np.ndarray, span: float) -> dict[str, Any]:
    """Keep a vibration that swells, and a line, for some seconds."""
    fast, slow = t * np.sin(2 * np.pi * 200 * t), 3 - t
    given = {"t": t.tolist(), "fast": fast.tolist(), "slow": slow.tolist(), "span": span}
    return run_in_node(RUN, given, folder)


def test_the_last_seconds_have_every_extreme_and_the_last_value(tmp_path: Path) -> None:
    t = np.linspace(0, 20, 20 * 720)
    found = thinned(tmp_path, t, 8.0)
    times, (fast, slow) = np.array(found["t"]), np.array(found["rows"])
    assert len(times) < 830
    assert found["most"] < 3000  # while the first seconds were kept more finely
    assert np.all(np.diff(times) > 0)
    assert times[0] >= 12.0
    assert times[-1] == 20.0
    assert slow[-1] == -17.0
    np.testing.assert_allclose(slow, 3 - times, atol=1e-6)  # lines stay lines
    # In each tenth of a second the vibration is as high and as low as it was.
    kept = t * np.sin(2 * np.pi * 200 * t)
    for begin in np.arange(12.1, 19.8, 0.1):
        inside, all_of_it = (times > begin) & (times < begin + 0.1), (t > begin) & (t < begin + 0.1)
        assert fast[inside].max() >= 0.99 * kept[all_of_it].max()
        assert fast[inside].min() <= 0.99 * kept[all_of_it].min()


def test_slow_motion_fills_no_more_room(tmp_path: Path) -> None:
    """Many bins that are narrower than those of now make room for them."""
    t = np.concatenate([np.linspace(0, 0.08, 6000), np.linspace(0.09, 1, 6000)])
    found = thinned(tmp_path, t, 0.08)
    assert found["t"][0] >= 0.92
    assert found["t"][-1] == 1.0
    assert len(found["t"]) < 830


def test_what_is_new_is_kept_as_it_came(tmp_path: Path) -> None:
    """A vibration that fills what is seen keeps its form."""
    t = np.linspace(0, 0.4, 193)
    found = thinned(tmp_path, t, 8.0)
    times, fast = np.array(found["t"]), np.array(found["rows"][0])
    np.testing.assert_allclose(
        fast, np.interp(times, t, t * np.sin(2 * np.pi * 200 * t)), atol=1e-5
    )
