"""Withholds secrets, and on request identities, before a run is published.

Detection cannot be complete: a secret that looks like a word, under a name that reveals nothing, is
published. What is searched for in every text of a run:

- text with the form of a key: the rules of detect-secrets, and `_SHAPES`;
- values under the name of a secret (``api_key``): in facts, in ``NAME=VALUE`` and in ``--name VALUE``;
- secret arguments of known programs (``mysql -pVALUE``, ``curl -u NAME:VALUE``): `_ARGUMENTS`;
- with ``identities``: e-mail and network addresses, home folders, hosts and users. The last two get numbers
  (``host-1``), so that a page can still show that one node failed twice.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar, cast

from chronicle.errors import MissingExtra
from chronicle.metrics.names import Linear
from chronicle.metrics.values import hosts_of, node_list, plural
from chronicle.model import Attempt, Entry, Fault
from chronicle.workspace.config import Redact

T = TypeVar("T")
WITHHELD = "(withheld)"

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SECRET = re.compile(
    r"(?:.* )?(?:\w*pass(?:words?|wd|phrase)|secrets?|credentials?|apikeys?|authorization|cookie"
    r"|(?:(?:db|root|admin|user|\w*sql) |ssh ?)(?:pass|pwd)|rediscli auth"
    r"|(?:api|access|secret|private|account|auth|signing|encryption|ssh|service) keys?"
    r"|(?:api|access|auth|bearer|refresh|session|bot|hf|hub|huggingface|github|gitlab|wandb|slack|user) "
    r"token)"
)
# Last words of names that may denote a secret, but only if the value looks generated.
_MAYBE_SECRET = re.compile("tokens?|key|pass|pwd|pat|auth|(?:re)?login|session|sig(?:nature)?")
_MADE = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}")
_NO_SECRET = re.compile(r"(?i)none|null|true|false|auto|\*+|\.+|<.*>|\[.*\]|\$\{?\w+\}?|\(withheld\)")
_NAME = r"[A-Za-z][\w.-]{2,60}"
_OPTION = re.compile(rf"--?({_NAME})")  # whose value is the next argument
# A name and its value, which ends at the closing quote, or else at a space or a separator.
_ASSIGNED = re.compile(
    rf"(?P<before>(?:(?P<name>(?:[A-Za-z]{{1,20}} )?{_NAME})\\?[\"']?\s*(?:[=:]|,(?=\s*[\"']))\s*"
    rf"|--?(?P<option>{_NAME})[\"']?,?\s+"
    rf"|(?P<title>(?:[A-Za-z]{{1,20}} )?{_NAME})[ \t.]+(?={_MADE.pattern}|[\w+/]{{40}}(?![\w+/])))"
    r"(?P<quote>\\?[\"'])?)"
    r"(?P<value>(?(quote)(?:(?!(?P=quote)).)+|(?:(?i:basic|bearer|digest|token) +)?"
    r"(?:\(withheld\)|[^\s\"',;&)}\]]|[\"',;&)}\]](?=[\w@#$%^*!/+-])(?![\w.-]+[\"']?\s*[=:]))+))"
)
# Programs, and what precedes a secret among their arguments, which may be printed as a list.
_GAP, _ITEM = r"[\s\"',]+", r"[^\s\"',]+[\s\"',]+"
_LATER = rf"[^\n]{{0,200}}?{_GAP}"  # up to another argument
_APART_OR_NOT = rf"(?:{_GAP})?+"
# The last argument of a command after its options: in prose that names the command, more words would follow.
_LAST = (
    rf"{_GAP}(?:-[\w-]+(?:=[^\s\"',]*|{_GAP}\w+://[^\s\"',]*)?{_GAP})*"  # `*+` is wrong before Python 3.11.5
    r"(?=[^\s\"',-][^\s\"',]{7,}[\s\"',)\]]*\Z)(?!\w+://)"
)
_ARGUMENTS = {
    r"mysql\w*|mariadb[\w-]*|7z[ar]?|rar|unrar": "-p",
    r"sshpass|mongo\w*|twine": f"-p{_APART_OR_NOT}",
    "docker|podman|nerdctl|skopeo|buildah|singularity|apptainer|helm|oras|oc|az": (
        rf"login\b{_LATER}-p{_APART_OR_NOT}"
    ),
    "curl|wget|https?": (
        rf"(?:-[a-zA-Z]*[uUa]|--(?:proxy-)?user|--auth)(?:=|{_GAP})?+[^\s\"',:=-][^\s\"',:]*:(?!//)"
    ),
    "redis-cli": f"(?:-a|--pass){_GAP}",
    "lftp": rf"-u{_GAP}[^\s\"',]+,",
    "smbclient|rpcclient": rf"-U{_APART_OR_NOT}[^\s\"',%]+%",
    r"ldap\w+": f"-w{_APART_OR_NOT}",
    "zip|unzip|sqlcmd|bcp": f"-P{_APART_OR_NOT}",
    "openssl": f"-k{_GAP}|pass:",
    "plink|pscp|psftp": f"-pw{_GAP}",
    "[xw]freerdp": "/p:",
    "htpasswd": rf"-\w*b\w*{_GAP}{_ITEM}{_ITEM}",
    "ssh-keygen": f"-[NP]{_GAP}",
    "wandb|vault": f"login{_LAST}",
    "ngrok": f"(?:config{_GAP}add-)?authtoken{_LAST}",
    "rclone": f"obscure{_LAST}",
    r"net(?:\.exe)?": (
        rf"use{_GAP}(?:[A-Za-z*]:?{_GAP})?\\+{_ITEM}(?!/)|user{_GAP}{_ITEM}(?=[^\s\"',/]+{_GAP}/)"
    ),
    "dvc": rf"remote{_GAP}modify\b{_LATER}(?:password|secret_access_key|account_key|sas_token){_GAP}",
    "mc": f"alias{_GAP}set{_GAP}{_ITEM}{_ITEM}{_ITEM}",
    "kaggle": rf"config{_GAP}set\b{_LATER}-v{_GAP}",
    "poetry": rf"config{_GAP}(?:http-basic\.{_ITEM}|pypi-token\.){_ITEM}",
    "aws": rf"configure{_GAP}set{_GAP}[\w.]*(?:secret|token)\w*{_GAP}",
}
_PARTING = dict.fromkeys(map(ord, "\t\n\r\v\f \"',)}]"), "\0")  # what parts the arguments of a line
_COMMAND = re.compile(rf"(?<![\w-])(?:{'|'.join(_ARGUMENTS)})(?=[\s\"',])")
# Prefixes of keys, which random characters follow.
_PREFIXES = (
    r"gh[pousr]|hf|r8|nvapi|dckr_pat|github_pat|gl(?:pat|ptt|dt)|xox[abeprs]|xapp|ya29|gsk|xai|pplx|fw|tgp_v1|wandb_v1"
    r"|lsv2_(?:pt|sk)|pcsk|npm|pypi|hv[sb]|dp\.pt|dop_v1|rpa|GOCSPX|vercel_blob_rw|[rs]k_(?:live|test)|shpat"
)
_SHAPES = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*-----|\Z)",
    rf"\b(?:{_PREFIXES})[_.-][A-Za-z0-9_-]{{20,}}",
    r"\bsk-[A-Za-z0-9_-]{20,}",
    r"\bAIza[0-9A-Za-z_-]{35}",
    r"\bdapi[0-9a-f]{32}",
    r"\bAGE-SECRET-KEY-1[0-9A-Z]{20,}",
    r"\beyJ[A-Za-z0-9_-]{20,}[=.\w-]*",  # JSON in base 64: a JWT, a token of Neptune
    # A key of any service: its name, and more characters than a word has, with digits here and there.
    r"\b[a-z][a-z0-9]{1,9}(?:_[a-z]{1,9}){0,2}_(?=[A-Za-z]*\d+[A-Za-z]+\d+[A-Za-z]+\d)(?=[a-z0-9]*[A-Z])"
    r"(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{32,}[\w-]*",
    r"\bAT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{20,}",
    r"\b[\w.~]{3}\dQ~[\w.~-]{31,}",
    r"(?<![\w/])1//0[\w-]{40,}",
    r"PuTTY-User-Key-File(?s:.*?)(?:Private-MAC: \w+|\Z)",
    r"(?i)(?<=;pwd=)[^\s;\"']+",  # in the string by which a database is opened
    # Addresses that are secrets themselves: of chats and hooks, and signed ones of a store.
    r"(?<=://hooks\.)(?!slack\.com/services/)[\w.-]+/[^\s\"'<>)]+|(?<=/hooks/)[\w-]{16,}",
    r"(?:(?<=/api/webhooks/)|(?<=/webhookb2/)|(?<=/bot/v2/hook/)|(?<=/webhook/send\?key=))[\w@/-]{20,}",
    # What is piped into a program that asks for it.
    r"(?:(?<=\becho )|(?<=\becho -n )|(?<=\bprintf ))(?![\"']?\$)[^\s|]+"
    r"(?=[^|\n]{0,100}\|[^|\n]{0,200}(?:-stdin|--with-token|sudo -S))",
    r"(?<=[?&]sig=)[\w%+/=-]{40,}",
    r"(?i)(?<=\bbearer )[A-Za-z0-9._~+/=-]{12,}",
    r"(?<=://)[^\s/:@\"'<>]*:(?!\d+/)[^\s\"'<>]+(?=@)",
    rf"(?<=://){_MADE.pattern}(?=@)",
)

_HOSTS = {"host", "hostname", "hosts", "node", "nodes", "nodename", "nodelist", "fqdn"}
_USERS = {"user", "username", "login", "email"}
_COMMON = {"localhost", "root", "user", "users", "admin", "ubuntu", "host", "node", "none", "unknown"}
_FEWEST = 4  # letters of a host or user name that is also withheld within other texts
_HOME = re.compile(
    r"(?:(?<![\w.~-])(?:/[\w.-]+){0,3}/(?:home|Users|users)/|[A-Za-z]:\\Users\\)[^/\\\s:\"',;]+"
    r"|(?<![\w.~-])/root(?=/)"
)
_EMAIL = re.compile(r"\b(?!git@)[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_NUMBERS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:]))"
)


@cache
def _commands() -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """For each program the pattern of its command (`|`, `;` and `&` end it only beside a space), and of the
    secret in it. They are compiled when a text first names one, as few commands should wait for that."""
    return [
        (
            re.compile(rf"(?<![\w-])(?:{program})(?=[\s\"',])(?:[^\n|;&]|(?<=\S)[|;&](?=[^\s|;&]))*"),
            re.compile(
                rf"(?<=[\s\"',])(?P<before>(?:{before})(?P<quote>\\?[\"'])?)"
                r"(?P<value>(?(quote)(?:(?!(?P=quote)).)+|(?:[^\s\"',)}\]]|,(?=\S))+))"
            ),
        )
        for program, before in _ARGUMENTS.items()
    ]


class Redactor:
    """Withholds text by the rules of chronicle.toml. ``texts`` holds the changed texts by the kind of what
    was withheld. ``names`` maps each number of a host or user to its name; it is never published."""

    def __init__(self, rules: Redact, hosts: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        self._secrets, self._identities = rules.secrets, rules.identities
        self._own = [
            partial(p.sub, WITHHELD) if isinstance(p, Linear) else partial(re.compile(p).sub, self._withheld)
            for p in rules.patterns
        ]
        self._allowed = [re.compile(pattern) for pattern in rules.allow]
        self.names: dict[str, str] = {}
        for kind, named in (("host", hosts), ("user", users)) if rules.identities else ():
            known = sorted({name for name in named if name and name.lower() not in _COMMON})
            self.names |= {f"{kind}-{i}": name for i, name in enumerate(known, start=1)}
        self._number_of = {name.partition(".")[0]: number for number, name in self.names.items()}
        self._number_of |= {name: number for number, name in self.names.items()}
        searched = [re.escape(name) for name in self._number_of if len(name) >= _FEWEST]
        longest_first = "|".join(sorted(searched, key=len, reverse=True))
        self._named = re.compile(rf"(?<![\w-])(?:{longest_first})(?![\w-])") if searched else None
        self.texts: dict[str, set[str]] = {"secret": set(), "identity": set()}
        self._published = cache(self._redacted)

    def __call__(self, text: str) -> str:
        """The text as it may be published."""
        return self._published(text) if text else ""

    def fact(self, name: str, value: Any) -> Any:
        """The value of a fact, which is withheld completely if its name denotes a secret."""
        if _may_be_secret_name(name) and type(value) in (str, int, list, tuple, dict):
            text = str(value).strip("[]()") if isinstance(value, list | tuple) else str(value)
            if self._is_secret(name, text):
                self.texts["secret"].add(name)
                return WITHHELD
        if self._identities and isinstance(value, str) and _last_word(name) in _HOSTS | _USERS:
            return self._numbered(value)
        return self.value(value)

    def value(self, value: T) -> T:
        """A copy of a value in which all texts may be published; arrays are not examined."""
        changed: Any = value
        if type(value) is str:  # not a StrEnum, which holds a word of chronicle
            changed = self(str(value))
        elif isinstance(value, Mapping):
            facts = [self.fact(*item) for item in self._listed((str(k), item) for k, item in value.items())]
            changed = dict(zip(map(self.value, value), facts, strict=True))
        elif isinstance(value, list | tuple):
            changed = type(value)([self.fact(*item) for item in self._listed(("/0", item) for item in value)])
        elif is_dataclass(value) and not isinstance(value, type):
            new = {f.name: self.fact(f.name, getattr(value, f.name)) for f in fields(value) if f.init}
            new = {name: item for name, item in new.items() if item is not getattr(value, name)}
            changed = replace(value, **new) if new else value
        return cast(T, changed)

    def _listed(self, items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Names and values, without the secret arguments of a command that is a list."""
        for of_list, group in groupby(_by_option(items), key=itemgetter(0)):
            _, names, values = zip(*group, strict=True)
            yield from zip(names, self._of_command(values) if of_list else values, strict=True)

    def _of_command(self, items: Sequence[Any]) -> Iterable[Any]:
        """The items of a list, which is searched like a line in which nothing within an argument parts it."""
        if not self._secrets or not any(isinstance(item, str) for item in items):
            return items
        texts = [item.translate(_PARTING) if isinstance(item, str) else "\0" for item in items]
        found = self._arguments(" ".join(texts)).split(" ")
        changed = {k: new.replace("\0", " ") for k, new in enumerate(found) if new != texts[k]}
        self.texts["secret"].update(items[k] for k in changed)
        return [changed.get(k, item) for k, item in enumerate(items)]

    def withheld(self) -> list[str]:
        """The sentences of a page on how many texts of which kind were withheld."""
        what = {"secret": "with what looks like a secret", "identity": "that named a person or a machine"}
        texts = [f"{plural(len(texts), 'text')} {what[kind]}" for kind, texts in self.texts.items() if texts]
        return [f"Withheld by [redact] of chronicle.toml: {text}" for text in texts]

    def _numbered(self, text: str) -> str:
        """The numbers of the hosts of a node list, in its short form, or of the user that ``text`` is."""
        known = self._number_of
        new = known.get(text) or _with_hosts_renamed(text, known)
        if new != text:
            self.texts["identity"].add(text)
        return self(new)

    def _redacted(self, text: str) -> str:
        new = text
        if self._secrets:
            for shape in _shapes():
                new = shape.sub(self._withheld, new)
            for without in self._own:
                new = without(new)
            new = self._assignments(self._arguments(new))
            if new != text:
                self.texts["secret"].add(text)
        if self._identities:
            before = new
            if self._named:
                new = self._named.sub(lambda match: self._number_of[match[0]], new)
            new = _EMAIL.sub(self._withheld, _HOME.sub(partial(self._withheld, by="~"), new))
            new = _NUMBERS.sub(self._address, new)
            if new != before:
                self.texts["identity"].add(text)
        return new

    def _is_secret(self, name: str, value: str) -> bool:
        """Whether ``value`` is to be withheld because of its ``name``."""
        says_something = self._secrets and len(value) > 3 and not _NO_SECRET.fullmatch(value)
        named = says_something and _may_be_secret_name(name)
        sure = named and (_is_secret_name(name) or _MADE.search(value) is not None)
        return sure and not self._is_allowed(value)

    def _withheld(self, match: re.Match[str], by: str = WITHHELD) -> str:
        return match[0] if self._is_allowed(match[0]) else by

    def _arguments(self, text: str) -> str:
        def within(secret: re.Pattern[str], command: re.Match[str]) -> str:
            return secret.sub(withheld, command[0])

        def withheld(match: re.Match[str]) -> str:
            is_secret = not (_NO_SECRET.fullmatch(match["value"]) or self._is_allowed(match["value"]))
            return match["before"] + WITHHELD if is_secret else match[0]

        for command, secret in _commands() if _COMMAND.search(text) else ():
            text = command.sub(partial(within, secret), text)
        return text

    def _assignments(self, text: str) -> str:
        """The text without values under names of secrets, also within values such as command lines."""
        parts, at = [], 0
        while match := _ASSIGNED.search(text, at):
            name = match["name"] or match["option"] or match["title"]
            is_secret = self._is_secret(name, match["value"])
            end = match.end() if is_secret else match.end("before")
            parts += [text[at : match.start("value")], WITHHELD] if is_secret else [text[at:end]]
            at = end
        return "".join((*parts, text[at:]))

    def _address(self, match: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(match[0])
        except ValueError:  # a time of day, a version
            return match[0]
        return match[0] if address.is_loopback or address.is_unspecified else self._withheld(match)

    def _is_allowed(self, value: object) -> bool:
        return any(pattern.search(str(value)) for pattern in self._allowed)


def redactor_of(
    rules: Redact,
    attempts: Sequence[Attempt] = (),
    faults: Sequence[Fault] = (),
    facts: Mapping[str, Any] = {},
) -> Redactor:
    """The redactor of a run, with the hosts and users that its logs and the ``facts`` of run.toml name."""
    every = [item for table in (facts, *(attempt.facts for attempt in attempts)) for item in _stated(table)]
    hosts = {host for name, v in every if _last_word(name) in _HOSTS for host in hosts_of(v)}
    hosts |= {fault.host for fault in (*faults, *(f for attempt in attempts for f in attempt.faults))}
    return Redactor(rules, hosts, {v for name, v in every if _last_word(name) in _USERS})


def _stated(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Facts that are words, also those in tables."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _stated(value)
        elif isinstance(value, str) and re.search("[A-Za-z]", value):
            yield name, value


def _with_hosts_renamed(nodes: str, names: Mapping[str, str]) -> str:
    """The node list with the hosts that have a name in ``names`` under that name."""
    return node_list(names.get(host, host) for host in hosts_of(nodes))


def with_names(entry: Entry, names: Mapping[str, str]) -> Entry:
    """The entry with the nodes of its attempts as their logs named them: never to be published."""
    if not names:
        return entry
    named = [_with_hosts_renamed(row.get("nodes") or "", names) for row in entry.attempts]
    rows = zip(entry.attempts, named, strict=True)
    return replace(entry, attempts=tuple({**row, "nodes": nodes} for row, nodes in rows))


@cache
def _shapes() -> tuple[re.Pattern[str], ...]:
    """The shapes of secrets: those of detect-secrets without its rules about words and entropy, and ours.
    Three of its rules are replaced by ours: that for private keys matches only their first line, that for
    passwords in addresses misses user names, and that for networks concerns identities."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import RegexBasedDetector
    except ImportError:
        raise MissingExtra("withholding secrets", "site", "detect-secrets") from None
    ours = {"Private Key", "Basic Auth Credentials", "Public IP (ipv4)"}
    kinds: list[tuple[str, Any]] = sorted(get_mapping_from_secret_type_to_class().items())
    rules = [kind() for name, kind in kinds if issubclass(kind, RegexBasedDetector) and name not in ours]
    return (*map(re.compile, _SHAPES), *(pattern for rule in rules for pattern in rule.denylist))


def _by_option(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """The list that items are of ("" for none), and their names and values. What follows an option in a list
    has the name of that option; the names of a list end in numbers: where ``args/0`` is ``--password``,
    ``args/1`` is named ``password``."""
    before, option = "", cast("re.Match[str] | None", None)
    for name, item in items:
        of_list, _, number = name.rpartition("/")
        listed = f"{of_list}/" if number.isdecimal() else ""
        yield listed, option[1] if option and listed == before else name, item
        option = _OPTION.fullmatch(item) if listed and isinstance(item, str) else None
        before = listed


@cache
def _is_secret_name(name: str) -> bool:
    """Whether the last words of a name, or of a name above it, denote a secret; ``eos_token`` does not."""
    parts = re.split(r"[/.]", name)
    return parts[-1].lower() == "token" or any(_SECRET.fullmatch(" ".join(_words(part))) for part in parts)


@cache
def _may_be_secret_name(name: str) -> bool:
    return _is_secret_name(name) or bool(_MAYBE_SECRET.fullmatch(_last_word(name)))


def _last_word(name: str) -> str:
    return next(reversed(_words(name)), "")


@cache
def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORDS.findall(name))
