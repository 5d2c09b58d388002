"""`flexarm view`: write an animated page, a movie or a picture of one run or several."""

import argparse
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.cli.console import Misuse, arg, file_path, require_figure, require_outputs, seconds

if TYPE_CHECKING:
    from flexarm.runs.run import Run

SUMMARY = "make a page that shows a run: the arm in motion and its curves"
LAST_PORT = 65535


def _port(text: str) -> int:
    """Return the port number in a text; 0 stands for any free port."""
    if not text.isdecimal() or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to {LAST_PORT}, got {text}")
    return int(text)


ARGUMENTS = (
    arg(
        "runs", type=file_path, metavar="RUN", nargs="+",
        help="a run that 'flexarm simulate --out' wrote, or several to compare",
    ),
    arg(
        "--html", "--out", dest="out", type=file_path, metavar="FILE",
        help="the page (default: RUN with .html)",
    ),
    arg(
        "--movie", type=file_path, metavar="FILE",
        help="write a film instead: .gif, or by the program ffmpeg .webm and .mp4",
    ),
    arg(
        "--picture", type=file_path, metavar="FILE",
        help="write one picture instead (png, svg, pdf); RUN may be an ARM too, at its start",
    ),
    arg("--at", type=seconds, metavar="S", help="time [s] of --picture (default: the end)"),
    "--force",
    arg("--open", action="store_true", help="open the page in a browser"),
    arg(
        "--serve", action="store_true",
        help="serve the page on this machine only and follow a run that 'flexarm simulate "
             "--live' is computing, or a file that will be there later",
    ),
    arg("--port", type=_port, metavar="N", help="port of --serve (default: a free one)"),
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Write a page, movie or picture of runs and print the file's path, or serve the page."""
    paths = args.runs
    still = args.movie or args.picture
    if args.serve and (args.out or still or args.force):
        raise Misuse("--serve writes no file. Leave --serve out, or leave out --out, --movie, "
                     "--picture and --force.")  # fmt: skip
    if args.movie and args.picture:
        raise Misuse("--movie and --picture exclude each other. Give one of them.")
    if still and (args.out is not None or args.open):
        option = "--movie" if args.movie else "--picture"
        raise Misuse(f"{option} writes no page. Leave out {option}, or leave out --out and --open.")
    if args.at is not None and args.picture is None:
        raise Misuse("--at is used only with --picture. Add --picture, or leave out --at.")
    require_figure(args.picture, "--picture")
    if args.port is not None and not args.serve:
        raise Misuse("--port is used only with --serve. Add --serve, or leave out --port.")
    if args.serve:
        _serve(paths, args)
        return
    from flexarm.runs.read import load_run
    from flexarm.viewer.movie import require_movie, save_movie, save_picture
    from flexarm.viewer.page import file_labels, run_page, save_page

    if args.movie is not None:
        require_movie(args.movie)
    arms = [path for path in paths if args.picture and _is_arm(path)]
    if args.at is not None and arms:
        raise Misuse(
            f"--at is a time of a run, and {arms[0]} is an arm, which is drawn at its start. "
            "Leave out --at."
        )
    read = _run_or_arm if args.picture else load_run
    runs = [read(path) for path in paths]  # errors of inputs come before errors of outputs
    out = still or args.out or paths[0].with_suffix(".html")
    require_outputs(args, out, inputs=paths)
    labels = file_labels(paths)
    if args.picture is not None:
        save_picture(runs, out, labels, at=args.at, force=args.force)
        print(f"picture: {out}")
        return
    if args.movie is not None:
        save_movie(runs, out, labels, force=args.force)
        print(f"film: {out}")
        return
    save_page(run_page(runs, labels), out, force=args.force)
    print(f"page: {out}")
    if args.open:
        webbrowser.open(out.resolve().as_uri())


def _is_arm(path: Path) -> bool:
    """Return whether a path is a model file, or the name of a sample arm."""
    from flexarm.samples import example_arm_names

    sample = not path.exists() and str(path) in example_arm_names()
    return sample or path.suffix.lower() in (".yaml", ".yml")


def _run_or_arm(path: Path) -> "Run":
    """Return the run in a file, or a very short run of an arm (model file or sample)."""
    from flexarm.integrate.constants import INSTANT_RUN
    from flexarm.integrate.simulate import simulate_whole
    from flexarm.io.model_file import arm_path, load
    from flexarm.runs.read import load_run

    if not _is_arm(path):
        return load_run(path)
    return simulate_whole(load(arm_path(str(path))), t_end=INSTANT_RUN, dt=INSTANT_RUN)


def _serve(paths: list[Path], args: argparse.Namespace) -> None:
    """Serve the page of runs on this machine until interrupted."""
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
