"""What has been trained, kept so that logs and labels can be written again without training again."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path

from lab.grow.plan import Recipe, digest

Row = dict[str, float]
OUT = Path(__file__).parents[1] / "out"
TRAINED = ".trained"  # below OUT: what is not for reading


def trained(recipe: Recipe, out: Path = OUT) -> tuple[list[list[Row]], list[Row]]:
    """Rows of every attempt of a recipe, and those of its twin; trains what is not there yet."""
    key = digest([asdict(recipe.run), [asdict(f) for f in recipe.faults], recipe.attempts, recipe.log.series])
    run = _kept(out / TRAINED / f"{recipe.name}-{key}.json.gz", recipe, twin=False)
    if not recipe.has_twin:
        return run, []
    (twin,) = _kept(out / TRAINED / f"twin-{recipe.twin_key}.json.gz", recipe, twin=True)
    return run, twin


def _kept(file: Path, recipe: Recipe, *, twin: bool) -> list[list[Row]]:
    if not file.is_file():
        from lab.grow.train import train

        if twin:
            rows = train(recipe.twin, (), ((0, recipe.twin.steps),), ())
        else:
            rows = train(recipe.run, recipe.faults, recipe.attempts, recipe.log.series)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_bytes(gzip.compress(json.dumps(rows).encode(), mtime=0))
        part.replace(file)  # at once or not at all: an interrupted training is trained again
    loaded: list[list[Row]] = json.loads(gzip.decompress(file.read_bytes()))
    return loaded
