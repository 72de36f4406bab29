"""Pictures of each kind of page, of the reference gallery and of the team's archive, for the guide.

    make site && python -m lab.archive ATLAS && (cd ATLAS && chronicle build)
    python -m lab.pictures build/site ATLAS/build/site

A Chromium opens the built sites from disk, in light; what it shows goes to docs/pictures as WebP, and the
table of them into docs/site.md.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parent.parent / "docs"
WIDTH, HEIGHT, SIZE = 1280, 860, (896, 602)  # CSS pixels of the window, and pixels of a picture
QUALITY = 55

# For each kind of page: its caption, and its address in the reference gallery and in the archive.
KINDS = {
    "home": ("Home: which runs need attention, what is new, what is in training", "index.html", "index.html"),
    "browse": ("Browse: all runs, with filters", "browse.html#verdict=bad", "browse.html"),
    "chronicle": ("Chronicle: what happened in all runs, by day", "chronicle.html", "chronicle.html"),
    "experiments": (
        "Experiments: what was changed, why, and what came of it", "experiments.html", "experiments.html",
    ),
    "run": (
        "A run: its headline, its figure, and the key to it",
        "runs/104B-en-fail/index.html", "runs/atlas-1b-nodes/index.html",
    ),
    "events": (
        "A run, further down: its story, its events, and what people said of them",
        "runs/bloom-176B-success/index.html#story", "runs/atlas-7b-kick/index.html#story",
    ),
    "view": (
        "The interactive view of a run",
        "assets/view.html#run=lab-lost-nodes", "assets/view.html#run=atlas-7b-kick",
    ),
    "compare": (
        "Several runs in one view",
        "assets/view.html#run=lab-healthy&run=lab-lr-kick",
        "assets/view.html#run=atlas-7b-a&run=atlas-7b-kick",
    ),
    "patterns": ("All patterns", "patterns/index.html", "patterns/index.html"),
    "pattern": (
        "A pattern: what it looks like, and where it was seen",
        "patterns/divergence-no-spike.html", "patterns/spike-no-full-recovery.html#here",
    ),
    "cases": ("Logbooks of public trainings", "cases/index.html", "cases/index.html"),
    "case": ("One of these logbooks, row by row", "cases/opt-175b.html", "cases/bloom-176b.html"),
    "reviews": ("Reviews: where people disagree with the classifier", "", "reviews.html"),
    "guide": ("The guide", "guide/index.html", "guide/reading.html"),
    "404": ("The page for an address that does not exist", "404.html", "404.html"),
}  # fmt: skip
SITES = {"gallery": "reference gallery", "archive": "team's archive"}


def name(site: str, kind: str) -> str:
    """The file of a picture below docs/pictures."""
    return f"site-{site}-{kind}.webp"


def table() -> str:
    """The part of docs/site.md that is made: a heading a kind of page, and its pictures."""
    lines = []
    for kind, (title, *addresses) in KINDS.items():
        lines += ["", f"### {title}", ""]
        lines += [
            f"![{title}: {words}](pictures/{name(site, kind)})"
            for (site, words), address in zip(SITES.items(), addresses, strict=True)
            if address
        ]
    return "\n".join(lines) + "\n"


def take(sites: dict[str, Path]) -> int:
    """Takes all pictures; returns how many bytes they have."""
    from playwright.sync_api import sync_playwright

    taken, chromium = 0, shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for kind, (_, *addresses) in KINDS.items():
            for (site, folder), address in zip(sites.items(), addresses, strict=True):
                if not address:
                    continue
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
                path, _, state = address.partition("#")
                page.goto(f"{(folder.resolve() / path).as_uri()}{'#' if state else ''}{state}")
                page.wait_for_load_state("networkidle")
                if kind in ("view", "compare"):
                    page.wait_for_selector("#panels[data-drawn]")
                file = DOCS / "pictures" / name(site, kind)
                picture = Image.open(io.BytesIO(page.screenshot()))
                small = picture.convert("RGB").resize(SIZE, Image.Resampling.LANCZOS)
                small.save(file, "WEBP", quality=QUALITY, method=6)
                taken += file.stat().st_size
                page.close()
        browser.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gallery", type=Path, help="The built reference gallery.")
    parser.add_argument("archive", type=Path, help="The built archive of lab.archive.")
    given = parser.parse_args()
    for folder in (given.gallery, given.archive):
        if not (folder / "index.html").is_file():
            parser.error(f"{folder} is no built site. Remedy: chronicle build")
    number = take({"gallery": given.gallery, "archive": given.archive})
    page = DOCS / "site.md"
    text = page.read_text("utf-8")
    page.write_text(re.sub(r"(?s)(<!-- pictures -->\n).*(<!-- end -->)", rf"\1{table()}\n\2", text), "utf-8")
    print(f"{number / 1000:.0f} KB of pictures in {DOCS / 'pictures'}")


if __name__ == "__main__":
    main()
