"""A search that needs no server: mkdocs calls this, and search.js searches what it writes."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> None:
    """Leave out the page for missing pages, whose style is at the root of a server alone."""
    config.theme.static_templates.discard("404.html")


def on_post_build(config: MkDocsConfig) -> None:
    """Turn the index into a script: a page that is opened as a file may load one, but not fetch."""
    index = Path(config.site_dir, "search/search_index.json")
    script = f"const searchIndex = {index.read_text(encoding='utf-8')};\n"
    index.with_suffix(".js").write_text(script, encoding="utf-8")
    index.unlink()
