"""How long a test waits for something that may never come: no test may depend on speed."""

from playwright.sync_api import BrowserContext

# [s], of CPU or of waiting.  Only what hangs takes so long, on a busy machine too: a bound on how
# fast something is would fail there.
HANGS = 1800.0


def patient(context: BrowserContext) -> BrowserContext:
    """Let the pages of a browser's context wait that long: by default it is 30 s."""
    context.set_default_timeout(1000 * HANGS)
    return context


def without_progress(errors: str) -> str:
    """Leave out the lines that a command prints on standard error when it takes long."""
    return "".join(each for each in errors.splitlines(True) if not each.endswith(" s so far\n"))
