"""Write the findings of the papers into their pages: ``python -m docs.make_papers [PAPER ...]``."""

import sys
from pathlib import Path

from flexarm_papers import PAPERS, choose_items, reproduce
from flexarm_papers.report import markdown

HERE = Path(__file__).parent


def main(papers: list[str]) -> None:
    """Compute papers and replace the findings at the end of their pages."""
    for paper in papers or PAPERS:
        results = reproduce(choose_items(paper, None), workers=2, progress=print)
        page = HERE / "papers" / f"{paper.partition('-')[0]}.md"
        text = page.read_text("utf-8").partition("## Findings")[0]
        found = markdown(results, "../images/papers", HERE / "images" / "papers")
        page.write_text(text + found, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
