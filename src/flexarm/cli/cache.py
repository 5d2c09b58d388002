"""`flexarm cache`: show or clear the disk cache of compiled functions."""

import argparse

from flexarm.cli.console import arg, print_json

SUMMARY = "show or clear the compiled functions that are stored on disk"
ARGUMENTS = (
    arg("--clear", action="store_true", help="delete all of them"),
    "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Print folder and size of the disk cache, after clearing it if ``--clear`` is given."""
    from flexarm.engine.cache import Cache, cache_folder

    cache = Cache(cache_folder())
    cache.check_folder()
    if not args.clear:
        cache.check_private()
    deleted = cache.clear() if args.clear else 0
    entries, size = len(cache.entries()), cache.size()
    if args.json:
        report = {"folder": str(cache.folder), "entries": entries, "bytes": size}
        print_json(report | {"deleted": deleted})
        return
    print(f"folder   {cache.folder}" + (": the cache is off" if cache.off else ""))
    print(f"entries  {entries}")
    print(f"size     {size / 1e6:.1f} MB")
    if args.clear:
        print(f"deleted  {deleted}")
