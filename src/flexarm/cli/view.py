"""`flexarm view`: a run, or two compared, as a page that moves."""

import argparse
import sys
import webbrowser
from pathlib import Path

SUMMARY = "make a page that shows a run: the arm in motion and its curves"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="a run that 'flexarm simulate --out' kept")
    add("other", type=Path, metavar="RUN", nargs="?", help="another, to be compared with it")
    add("--out", type=Path, metavar="FILE", help="the page (default: RUN with .html)")
    add("--force", action="store_true", help="overwrite a page that is there")
    add("--open", action="store_true", help="open the page in a browser")
    add(
        "--serve", action="store_true",
        help="serve the page on this machine only and follow the run: one that 'flexarm simulate "
        "--live' is at work on, or a file that will be there later",
    )  # fmt: skip
    add("--port", type=int, default=0, metavar="N", help="port of --serve (default: a free one)")


def run(args: argparse.Namespace) -> int:
    """Write the page and say where it is, or serve it."""
    paths = [path for path in (args.run, args.other) if path is not None]
    if args.serve:
        return _serve(paths, args)
    from flexarm.integrate.run_file import load_run
    from flexarm.io.whole_file import require_writable
    from flexarm.viewer.page import run_page, save_page

    out = args.out or args.run.with_suffix(".html")
    require_writable(out, force=args.force)
    labels = [path.stem for path in paths] if len(paths) > 1 else ()
    save_page(run_page([load_run(path) for path in paths], labels), out, force=args.force)
    print(f"page: {out}")
    if args.open:
        webbrowser.open(out.resolve().as_uri())
    return 0


def _serve(paths: list[Path], args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from flexarm.viewer.serve import HINT, serve

    with serve(paths, args.port) as server:
        print(f"page: {server.url} (on this machine only; ctrl-C ends it)", flush=True)
        for path in server.source.missing():
            print(f"waiting for {path}: {HINT}", flush=True)
        if args.open:
            webbrowser.open(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print(file=sys.stderr)
    return 0
