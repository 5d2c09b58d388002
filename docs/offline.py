"""Let the site search without a server or a network: mkdocs calls this."""

from mkdocs.config.defaults import MkDocsConfig

_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"


def on_config(config: MkDocsConfig) -> None:
    """Leave out the page for missing pages, whose style is at the root of a server alone."""
    config.theme.static_templates.discard("404.html")


def on_post_page(output: str, **about: object) -> str:
    """Name a script of the site for what the theme would fetch: a worker among files."""
    page = about["page"]
    up = "../" * page.url.count("/")  # type: ignore[attr-defined]
    return output.replace(_ELSEWHERE, f"{up}worker.js")
