"""Logs of machines that lie apart from every training: which run they tell of, and what to do where none.

`dmesg` and job logs often lie in a folder of their own. They tell of a run that names the same job, or that
was the only one to run when a fault happened (within an hour, on one of its nodes where it names them).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from chronicle.metrics.counters import has_year, in_year_of
from chronicle.metrics.values import clipped, instant, plural
from chronicle.model import Attempt, Entry, Fault
from chronicle.readers.console.hosts import expand
from chronicle.timeline.endings import AROUND_S, MACHINE_LOG

_NAMED = 3  # runs that a remedy names


@dataclass(frozen=True)
class _Ran:
    """When (first and last Unix seconds of each attempt) and where a run was; empty where it does not say."""

    run_id: str
    spans: tuple[tuple[float, float], ...]
    jobs: frozenset[str]
    hosts: frozenset[str]

    def was_there(self, fault: Fault) -> bool:
        """Whether the fault happened while an attempt ran, on a host that may be one of its own."""
        near = any(
            first - AROUND_S <= in_year_of(fault.at_time, last) <= last + AROUND_S  # False for NaN
            for first, last in self.spans
        )
        return near and not (self.hosts and fault.host and _short(fault.host) not in self.hosts)


def only_machines(entry: Entry) -> bool:
    """Whether nothing but logs of machines and jobs was read."""
    return not entry.metrics and all(row.get("format") == MACHINE_LOG for row in entry.attempts)


def runs_told_of(logs: Iterable[Attempt], entries: Iterable[Entry]) -> list[str]:
    """The ids of the runs that machine logs tell of, by job or by time."""
    ran, found = [_ran(entry) for entry in entries], set[str]()
    for log in logs:
        found |= {run.run_id for run in ran if str(log.facts.get("job")) in run.jobs}
        for there in _who(log, ran):
            found |= {there[0].run_id} if len(there) == 1 else set()
    return sorted(found)


def remedy(logs: Sequence[Attempt], entries: Iterable[Entry]) -> str:
    """What is said of machine logs that tell of no run for certain."""
    faults = [fault for log in logs for fault in log.faults if fault.kind != "read"]
    ran = [_ran(entry) for entry in entries]
    maybe = sorted({run.run_id for log in logs for there in _who(log, ran) for run in there})
    told = plural(len(faults), "fault") + (f", first: {_told(faults[0])}" if faults else "")
    which = clipped(", ".join(maybe[:_NAMED]) + (", …" if len(maybe) > _NAMED else ""), 200)
    why = f"may be of {which}, which ran at one time" if maybe else "no run here names its job or ran then"
    return (
        f"tells of machines and no training ({told}); {why}. "
        "Remedy: put it into the folder of its run, or name it among the paths of its run.toml"
    )


def _who(log: Attempt, ran: Sequence[_Ran]) -> Iterator[list[_Ran]]:
    """For each fault the runs that were there."""
    yield from ([run for run in ran if run.was_there(fault)] for fault in log.faults)


def _ran(entry: Entry) -> _Ran:
    spans = [(row.get("started"), row.get("ended")) for row in entry.attempts]
    jobs = {row["job"] for row in entry.attempts if row.get("job")}
    hosts = {_short(host) for row in entry.attempts for host in expand(row.get("nodes") or "")}
    told = tuple((_seconds(first), _seconds(last)) for first, last in spans if first and last)
    return _Ran(entry.run_id, told, frozenset(jobs), frozenset(hosts))


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _told(fault: Fault) -> str:
    time = instant(fault.at_time) if has_year(fault.at_time) else ""
    where = ", ".join(word for word in (time, fault.host) if word)
    return clipped(fault.what, 120) + (f" ({where})" if where else "")


def _short(host: str) -> str:
    """A host without its domain: logs write one name both ways."""
    return host.partition(".")[0]
