"""`flexarm view`: a run, or several compared, as a page that moves or as a film."""

import argparse
import sys
import webbrowser
from pathlib import Path

from flexarm.cli.arguments import Misuse, file_path

SUMMARY = "make a page that shows a run: the arm in motion and its curves"
LAST_PORT = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add(
        "runs", type=file_path, metavar="RUN", nargs="+",
        help="a run that 'flexarm simulate --out' kept, or several to be compared",
    )  # fmt: skip
    add(
        "--html", "--out", dest="out", type=file_path, metavar="FILE",
        help="the page (default: RUN with .html)",
    )  # fmt: skip
    add(
        "--movie", type=file_path, metavar="FILE",
        help="write a film instead: .gif, or by the program ffmpeg .webm and .mp4",
    )  # fmt: skip
    add("--force", action="store_true", help="overwrite a file that is there")
    add("--open", action="store_true", help="open the page in a browser")
    add(
        "--serve", action="store_true",
        help="serve the page on this machine only and follow the run: one that 'flexarm simulate "
        "--live' is at work on, or a file that will be there later",
    )  # fmt: skip
    add("--port", type=_port, metavar="N", help="port of --serve (default: a free one)")


def run(args: argparse.Namespace) -> int:
    """Write the page and say where it is, or serve it."""
    paths = args.runs
    if args.serve and (args.out is not None or args.movie is not None or args.force):
        raise Misuse("--serve writes no file: leave out --out, --movie and --force, or --serve")
    if args.movie is not None and (args.out is not None or args.open):
        raise Misuse("--movie writes no page: leave out --out and --open, or --movie")
    if args.port is not None and not args.serve:
        raise Misuse("--port is for --serve: add --serve, or leave out --port")
    if args.serve:
        return _serve(paths, args)
    from flexarm.io.whole_file import require_apart, require_writable
    from flexarm.runs.read import load_run
    from flexarm.viewer.movie import require_movie, save_movie
    from flexarm.viewer.page import run_page, save_page

    if args.movie is not None:
        require_movie(args.movie)
    runs = [load_run(path) for path in paths]  # first: what is no run needs no page
    out = args.movie or args.out or paths[0].with_suffix(".html")
    require_writable(out, force=args.force)
    require_apart(out, paths)
    labels = [path.stem for path in paths] if len(paths) > 1 else ()
    if args.movie is not None:
        save_movie(runs, out, labels, force=args.force)
        print(f"film: {out}")
        return 0
    save_page(run_page(runs, labels), out, force=args.force)
    print(f"page: {out}")
    if args.open:
        webbrowser.open(out.resolve().as_uri())
    return 0


def _port(text: str) -> int:
    """Read a port; 0 is any free one."""
    if not text.isdecimal() or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to {LAST_PORT}, got {text}")
    return int(text)


def _serve(paths: list[Path], args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from flexarm.viewer.serve import HINT, serve

    with serve(paths, args.port or 0) as server:
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
