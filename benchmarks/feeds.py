"""Checks the feeds of built sites with published tools: a validator of the W3C, a schema of JSON Feed.

    python -m benchmarks.feeds CHECKOUT SCHEMA SITE...

CHECKOUT is a copy of github.com/w3c/feedvalidator. It needs lxml, html5lib and rdflib, which chronicle does
not need, so use an interpreter that has these and jsonschema. SCHEMA is schema-v1.1.json of the npm package
jsonfeed-schema. The number of messages of each kind is printed; an error fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path


def main(checkout: Path, schema: Path, sites: list[Path]) -> int:
    """Returns 1 if any feed has an error. Warnings (RFC 4287: SHOULD) are shown and counted separately."""
    return int(atom(checkout, sites) + json_feeds(schema, sites) > 0)


def json_feeds(schema: Path, sites: list[Path]) -> int:
    """The number of errors in all JSON feeds."""
    import jsonschema

    validator = jsonschema.Draft7Validator(json.loads(schema.read_bytes()))
    errors = 0
    for feed in (site / "feed.json" for site in sites):
        wrong = list(validator.iter_errors(json.loads(feed.read_bytes())))
        errors += len(wrong)
        kinds = Counter(f"{error.json_path}: {error.message}" for error in wrong)
        for kind, number in sorted(kinds.items()):
            print(f"{feed}: error: {kind}, {number} times")
        print(f"{feed}: {len(wrong)} errors")
    return errors


def atom(checkout: Path, sites: list[Path]) -> int:
    """The number of errors in all Atom feeds."""
    sys.path.insert(0, str(checkout / "src"))
    import feedvalidator  # type: ignore[import-not-found]
    from feedvalidator import logging

    errors = 0
    for site in sites:
        feed = site / "feed.xml"
        base = "https://log.example.org/feed.xml"
        logged = feedvalidator.validateString(feed.read_bytes(), firstOccurrenceOnly=0, base=base)
        wrong = [event for event in logged["loggedEvents"] if isinstance(event, logging.Error)]
        mild = [event for event in logged["loggedEvents"] if isinstance(event, logging.Warning)]
        errors += len(wrong)
        for kind, events in ("error", wrong), ("warning", mild):
            for name, number in sorted(Counter(type(event).__name__ for event in events).items()):
                print(f"{feed}: {kind}: {name}, {number} times")
        print(f"{feed}: {len(wrong)} errors, {len(mild)} warnings")
    return errors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT")
    parser.add_argument("schema", type=Path, metavar="SCHEMA")
    parser.add_argument("sites", type=Path, nargs="+", metavar="SITE")
    given = parser.parse_args()
    if not (given.checkout / "src" / "feedvalidator").is_dir():
        parser.error(f"{given.checkout} is not a checkout of feedvalidator: it has no src/feedvalidator")
    if not given.schema.is_file():
        parser.error(f"{given.schema} is not a file. Remedy: name schema-v1.1.json of jsonfeed-schema")
    for folder in given.sites:
        if not (folder / "feed.xml").is_file():
            parser.error(f"{folder} is not a built site: it has no feed.xml. Remedy: run chronicle build")
    sys.exit(main(given.checkout, given.schema, given.sites))
