"""Puts times, facts, criteria and names into words, as plain text, and escapes text for HTML."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.util import cache_from_source
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from chronicle.errors import ConfigError
from chronicle.metrics.values import (
    FACTOR_LOG,
    Axis,
    clipped,
    count,
    duration,
    grouped,
    percent,
    plural,
    unit_words,
    value_words,
)
from chronicle.model import VERDICTS, Criterion, Diagnosis, Entry, Event, Fact, Finding, Role
from chronicle.story.measured import BY_PEOPLE
from chronicle.story.restarts import gap as gap

Render = Callable[[str, Mapping[str, Any]], str]  # renders the template of a name with the values given
_ROLES: dict[str, str] = {
    Role.LOSS: "training loss",
    Role.PART_LOSS: "part of the loss",
    Role.DATASET_LOSS: "loss by data set",
    Role.GRAD_NORM: "gradient norm",
    Role.POLICY_KL: "divergence from the reference",
    "attempts": "a second attempt",
}
# The mark and the words for the outcome of a criterion.
OUTCOMES = {None: ("open", "not assessed"), True: ("pass", "met"), False: ("fail", "not met")}
_CONFIG = "config/"
_IDENTIFIERS = {"seed", "id", "pid", "port", "job", "version", "code", "rank"}
_MOST_PHRASES = 6  # phrases of a table's cell


def when(event: Event, axis: Axis) -> str:
    """The time of an event, as far as known: ``2026-03-02 14:52Z, 5.9 h after the start``; of a note, when it
    was written, and on what: ``2026-03-05 09:10Z, on step 58 900``."""
    day, elapsed_s = f"{event.time[:10]} {hour(event.time)}".strip(), event.elapsed_s or 0.0
    since = f"{duration(elapsed_s)} after the start" if elapsed_s >= 1 else ""
    if event.kind in BY_PEOPLE:
        since = f"on {axis.place(event.step)}" if event.step is not None else ""
    return ", ".join(filter(None, (day, since)))


def hour(time: str) -> str:
    """The time of day of an ISO 8601 time, with its zone: ``14:52Z``; empty if it has none."""
    clock = re.fullmatch(r"[T ](\d\d:\d\d)[\d:.]*(Z|[+-][\d:]+)?", time[10:])
    return "".join(clock.groups("")) if clock else ""


def short_name(name: str) -> str:
    """The last part of a path, shortened at its end."""
    return clipped(name.rsplit("/", 1)[-1], 32)


def first_phrases(phrases: Sequence[str], between: str = " · ") -> str:
    """The first phrases for a cell of a table, and how many more there are in entry.json."""
    more = [f"{len(phrases) - _MOST_PHRASES} more in entry.json"] if len(phrases) > _MOST_PHRASES else []
    return between.join([*phrases[:_MOST_PHRASES], *more])


def fact_value(fact: Fact) -> str:
    """A fact's value, or ``not logged``. A value without a unit has six digits; a hash is shortened."""
    value = fact.value
    if fact.unit == "" and not isinstance(value, bool):
        if isinstance(value, str) and re.fullmatch("[0-9a-f]{32,128}", value):
            return f"{value[:12]}…"
        if isinstance(value, int):  # a seed only looks like a quantity
            name = re.split(r"[\s_/.-]+", fact.quantity.lower())[-1]
            return str(value) if name in _IDENTIFIERS or abs(value) < 10_000 else count(value)
        if isinstance(value, float):
            return f"{'−' if value < 0 else ''}{abs(value):.6g}"
    return value_words(value) or "not logged"


def fact_unit(fact: Fact) -> str:
    """A fact's unit; empty if its value was not logged, or if no unit was declared."""
    return "" if fact.value is None else unit_words(fact.value, fact.unit)


def configured(facts: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """The facts in two lists: those measured or stated, and the values of a configuration by their keys."""
    plain = [fact for fact in facts if not fact.quantity.startswith(_CONFIG)]
    rest = [fact for fact in facts if fact.quantity.startswith(_CONFIG)]
    return plain, [replace(fact, quantity=fact.quantity.removeprefix(_CONFIG)) for fact in rest]


def _counted_on(axis: Axis, text: str) -> str:
    """Words of the classifier, which calls whatever a log counts steps, in the unit of its axis."""
    return re.sub(r"\bsteps\b", lambda _: axis.unit, text)


def alike(entry: Entry, found: Sequence[Finding]) -> list[tuple[Finding, list[str]]]:
    """For each pattern the finding in a loss, else the gravest, and the other metrics that show the same."""
    losses, tables = {row["metric"] for row in entry.metrics if row["role"] == Role.LOSS}, []
    for same in grouped(found, attrgetter("pattern")).values():
        first = max(same, key=lambda finding: (finding.metric in losses, finding.severity))
        tables.append((first, [f.metric for f in same if f is not first and f.metric]))
    return tables


_LOGS = "log units"
_SHARES = ("share", "of the height", "of the samples")  # units of a part of one
_NUMBER = re.compile(
    r"(?<![\d.])\d+(?:\.\d+)?(?![\d.])(?! (?:noise|errors))(?P<of> of the height)?(?P<logs> log units)?"
)
_DOWN = re.compile(r"\b(?:fall|fell|under|below)\b")  # what a criterion measures downwards


def _hundredths(part: float) -> str:
    """A part of one as a percentage: ``2.5 %``, ``16 %``, ``292 %``."""
    size = abs(100 * part)
    return f"{'−' if part < 0 else ''}{count(size) if size >= 99.5 else f'{size:.2g}'} %"


def _log_hundredths(criterion: Criterion, log_units: float) -> str:
    """A difference of logarithms as a percentage; a large one as a factor."""
    if log_units > FACTOR_LOG:
        return percent(log_units)
    sign = -1 if _DOWN.search(criterion.name) else 1
    return _hundredths(log_units if abs(log_units) < 0.1 else sign * math.expm1(sign * log_units))


def criterion_value(criterion: Criterion, axis: Axis) -> str:
    """What was measured, with its unit; ``not logged`` if there was nothing to measure. People read a
    percentage more easily than a part of one, or than a difference of logarithms."""
    value, unit = criterion.value, criterion.unit
    if value is None:
        return "not logged" if criterion.met is None else "never"
    if criterion.threshold in ("yes", "no"):
        return value_words(bool(value))
    if unit == _LOGS:
        return _log_hundredths(criterion, value)
    if unit.startswith(_SHARES):
        return f"{_hundredths(value)} {_counted_on(axis, unit.removeprefix('share').strip())}".strip()
    return f"{value_words(value)} {_counted_on(axis, unit)}".strip()


def threshold(criterion: Criterion, axis: Axis) -> str:
    """The threshold of a criterion in typographic form: ``≥ 6 scales``, ``≤ 15 %, at most 3 %``."""
    demand, in_logs = criterion.threshold, criterion.unit == _LOGS

    def as_percentage(match: re.Match[str]) -> str:
        number, of = float(match[0].split(" ")[0]), match["of"] or ""
        is_log = match["logs"] or (in_logs and not of)
        return (_log_hundredths(criterion, number) if is_log else _hundredths(number)) + of

    if in_logs or criterion.unit.startswith(_SHARES):
        demand = _NUMBER.sub(as_percentage, demand)
    return _counted_on(axis, demand.replace(">=", "≥").replace("<=", "≤"))


def condition(runner_up_if: str, axis: Axis) -> str:
    """The condition for the runner-up, as the end of a sentence: `` if the rise had been a ramp``."""
    return _counted_on(axis, f" if {runner_up_if.removeprefix('if ')}" if runner_up_if else "")


def role_words(role: str) -> str:
    """A role in words: ``gradient norm``, or ``8 points of gradient norm`` if too few were logged."""
    points, of, name = str(role).rpartition("-points-of-")
    words = _ROLES.get(name, name.replace("-", " "))
    return f"{points} points of {words}" if of else words


def unassessed(diagnosis: Diagnosis, title: Callable[[str], str] = str) -> dict[str, list[str]]:
    """The patterns that were not assessed, by the series that they lack, or the commonest of these. What most
    of them lack is first."""
    lacking = Counter(role for item in diagnosis.not_assessed for role in item.missing)
    patterns: dict[str, list[str]] = {}
    for item in diagnosis.not_assessed:
        first, *rest = map(role_words, sorted(item.missing, key=lambda role: -lacking[role]))
        also = f" (also {' and '.join(rest)})" if rest else ""
        patterns.setdefault(first, []).append(title(item.pattern) + also)
    return dict(sorted(patterns.items(), key=lambda item: -len(item[1])))


def steps(row: Mapping[str, Any]) -> str:
    """First and last step of a row in the table of attempts or metrics: ``0 – 61 400``."""
    first, last = row.get("first_step"), row.get("last_step")
    return "none" if first is None or last is None else f"{count(first)} – {count(last)}"


_FEW_MORE = 60  # characters; without them a text with the words about them would be hardly shorter
LONGEST = 2_000  # characters of a text on a page; entry.json has the whole text
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_BREAKS = re.compile("(?:\r\n|[\t\n\x0b\x0c\r\x85\u2028\u2029])+")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
_ADDRESS = re.compile(r"(https?://[^\s<>\"'`{}|\\^]*[^\s<>\"'`{}|\\^.,;:!?)\]])")
_SOURCE = re.compile(
    rf"({_ADDRESS.pattern[1:-1]}|arXiv:\d{{4}}\.\d{{4,5}}|\bhuggingface\.co/[\w./-]+"
    r"|(?<![\w/.-])[A-Za-z][\w-]*/[\w.-]+(?:#\d+|, [\w.-]+(?:/[\w.-]+)+(?=\s|$)|(?= \()|$))"
)
_SIGN = re.compile(r"(?<=\d) (?=%|M\b)")
_MARKUP = str.maketrans({c: f"&#{ord(c)};" for c in "&<>\"'`*_[]{}\\#|~!^"})


class Html(str):
    """Text that is HTML already. Only this package makes it."""

    def __html__(self) -> str:
        return self


def plain(text: Any) -> str:
    """Text on one line, without characters that cannot be shown or that change the direction of writing."""
    line = str(text)
    if not (line.isascii() and line.isprintable()):  # most texts are both, which is checked much faster
        line = _UNSEEN.sub("\ufffd", _BREAKS.sub(" ", line))
    return _cut(line)


def as_html(value: Any) -> Html:
    """A value escaped for HTML and Markdown; `Html` and rendered templates stay as they are."""
    return Html(value.__html__() if hasattr(value, "__html__") else _kept(plain(value)).translate(_MARKUP))


def _kept(text: str) -> str:
    """Text in which no line ends between a number and its per cent sign or the M of a million."""
    return _SIGN.sub("\u202f", text) if "%" in text or " M" in text else text


def lines(text: str, longest: int = 0) -> Html:
    """Text of several lines, with its line breaks, cut to ``longest`` characters (0: to `LONGEST`)."""
    return Html("<br>".join(as_html(line) for line in _cut(text.strip(), longest or LONGEST).splitlines()))


def coded(text: Any) -> Html:
    """Text in which words between backticks are code."""
    return Html(re.sub("&#96;(.+?)&#96;", r"<code>\1</code>", as_html(text)))


def linked(text: Any) -> Html:
    """Text with its web addresses as links; nothing else becomes one."""
    return _with_links(text, _ADDRESS, lambda address: address)


def cited(text: Any) -> Html:
    """The place of a source with a link: an address, ``arXiv:2204.02311``, ``owner/name#123``, ..."""
    return _with_links(text, _SOURCE, _address_of_source)


def _with_links(text: Any, pattern: re.Pattern[str], address: Callable[[str], str]) -> Html:
    parts = pattern.split(plain(text))  # text, what becomes a link, text, ...
    hrefs = ((as_html(address(part)), as_html(part)) for part in parts[1::2])
    links = (f'<a href="{href}" rel="noopener noreferrer">{part}</a>' for href, part in hrefs)
    words = map(as_html, parts[::2])
    return Html("".join(f"{before}{link}" for before, link in zip_longest(words, links, fillvalue="")))


def _address_of_source(source: str) -> str:
    if source.startswith("arXiv:"):
        return f"https://arxiv.org/abs/{source.removeprefix('arXiv:')}"
    if source.startswith("huggingface.co/"):
        return f"https://{source}"
    if "://" in source:
        return source
    repository, _, path = source.replace("#", "/issues/").partition(", ")
    return f"https://github.com/{repository}" + (f"/blob/HEAD/{path}" if path else "")


def yaml_string(text: str) -> Html:
    """A quoted value of front matter, escaped because themes print it as it is."""
    return Html(json.dumps(as_html(text), ensure_ascii=False))


@lru_cache(maxsize=1 << 14)
def slug(run_id: str) -> str:
    """The folder of a run's page: a valid run id as it is, any other one quoted to lead nowhere else."""
    name = quote(run_id.encode("utf-8", "surrogatepass"), safe="")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def address(run_id: str) -> str:
    """The folder of a run's page as part of a link."""
    return quote(slug(run_id))


def place(run_id: str) -> str:
    """The address of a run's page, from the root of the site."""
    return f"runs/{address(run_id)}/index.html"


def as_json(value: Any) -> str:
    """A value as compact JSON, for the scripts that pages load."""
    return _COMPACT.encode(value)


def _cut(text: str, longest: int = LONGEST) -> str:
    """The text, cut to ``longest`` characters where it is much longer, with the number of those left out."""
    more = len(text) - longest
    return text if more <= _FEW_MORE else f"{text[:longest]}… ({more} more characters)"


def renderer(folders: Sequence[Path]) -> Render:
    """A function that renders templates from the first folder that has them, with every value escaped.
    Templates run in jinja's sandbox, and one that fails raises ConfigError with its name and line."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    filters = (cited, coded, count, lines, linked, place, plain, plural)
    environment = ImmutableSandboxedEnvironment(
        loader=jinja2.FileSystemLoader([str(folder) for folder in folders]),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=as_html,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_compiled(filters),
    )
    environment.filters.update({function.__name__: function for function in filters}, yaml=yaml_string)
    environment.globals.update(base="", verdicts=VERDICTS)

    def render(name: str, values: Mapping[str, Any]) -> str:
        try:
            return environment.get_template(name).render(values)
        except jinja2.TemplateSyntaxError as err:
            raise ConfigError(err.name or name, f"line {err.lineno}", f"template error: {err}") from err
        except Exception as err:  # a template is code, and it may be the workspace's own
            raise ConfigError(name, "", f"template error: {err}") from err

    return render


def _compiled(filters: Sequence[Callable[..., Any]]) -> Any:
    """Where jinja keeps compiled templates, whose compilation takes longer than most of their pages: beside
    the bytecode of this package, as `build/part.py` keeps those of the theme. One of another text is not
    taken, and none after a change of the filters, which jinja applies to constants when it compiles."""
    import jinja2

    modules = sorted({str(sys.modules[function.__module__].__file__) for function in filters})
    stamp = repr([os.stat(module).st_mtime_ns for module in modules])

    class ByName(jinja2.FileSystemBytecodeCache):  # not by path: most workspaces have the templates shipped
        def get_cache_key(self, name: str, filename: str | None = None) -> str:
            return super().get_cache_key(f"page {name}")

        def get_source_checksum(self, source: str) -> str:
            return super().get_source_checksum(stamp + source)

    folder = Path(cache_from_source(__file__)).parent
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return ByName(str(folder), f"jinja2-{jinja2.__version__}-%s.cache")
