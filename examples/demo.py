"""List the sample arms: what `make demo` shows."""

from flexarm.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["samples"]))
