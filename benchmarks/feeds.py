"""Checks the Atom feeds of built sites by the W3C's own validator.

    python -m benchmarks.feeds CHECKOUT SITE...

CHECKOUT is a copy of github.com/w3c/feedvalidator; it needs lxml, html5lib and rdflib, which chronicle does
not, so run it by an interpreter that has them. Prints how often each kind of message came; errors fail.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path


def main(checkout: str, *sites: str) -> int:
    """Returns 1 if any feed has an error; warnings (by RFC 4287: SHOULD) are shown and counted alone."""
    sys.path.insert(0, str(Path(checkout) / "src"))
    import feedvalidator  # type: ignore[import-not-found]
    from feedvalidator import logging

    errors = 0
    for site in sites:
        feed = Path(site) / "feed.xml"
        base = "https://log.example.org/feed.xml"
        found = feedvalidator.validateString(feed.read_bytes(), firstOccurrenceOnly=0, base=base)
        wrong = [event for event in found["loggedEvents"] if isinstance(event, logging.Error)]
        mild = [event for event in found["loggedEvents"] if isinstance(event, logging.Warning)]
        errors += len(wrong)
        for kind, events in ("error", wrong), ("warning", mild):
            for name, number in sorted(Counter(type(event).__name__ for event in events).items()):
                print(f"{feed}: {kind}: {name}, {number} times")
        print(f"{feed}: {len(wrong)} errors, {len(mild)} warnings")
    return int(errors > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
