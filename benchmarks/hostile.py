"""What strangers may put into logs, as rows of `benchmarks.torture`: damage, secrets, attacks.

- Damaged copies of every example of every format (tests/readers/damage.py): none may make a reader fail,
  hang, or give columns of different lengths.
- A secret in every kind of input: each example that is text, each side file, each tracker, names of files,
  run.toml, notes. A build publishes none of them.
- A run for each text that would have an effect as HTML, as Markdown or in a template, in every place of a
  text: every page of the site is opened in a real Chromium, and nothing happens.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import playwright.sync_api as playwright
from tests.browser.conftest import FLAGS
from tests.pages.test_escape import HOSTILE
from tests.readers.damage import damaged, is_text
from tests.readers.gold import EXAMPLES, examples
from tests.readers.tracker_writers import (
    mlflow_folder,
    trackio_log,
    wandb_alert,
    wandb_exit,
    wandb_file,
    wandb_history,
    wandb_output,
    wandb_run,
)
from tests.readers.writers import event, event_log, frame, simple, summary

from chronicle.readers import read_all
from chronicle.readers.facts import SIDE_FILES

LONGEST_S = 20  # that reading a damaged copy of some kilobytes may take
LINE_BYTES = 100_000
# Made up, and put together here, so that no scanner takes this file for a leak.
SHAPED = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567"
NAMED = "correcthorse9battery"
PERSON = "adalovelace"
SECRETS = (SHAPED, NAMED, PERSON, "10.17.2.3")
SAID = f"python train.py --api_key {NAMED} --out /home/{PERSON}/x from 10.17.2.3 with {SHAPED}"
FOUND = f"ConnectionError: https://{PERSON}:{NAMED}@db.example.org refused {SHAPED} at 10.17.2.3"
SETTINGS = {
    "api_key": NAMED,
    "secrets": {"store": NAMED},
    "hub": SHAPED,
    "user": PERSON,
    "args": ["--password", NAMED],
    "command": ["mysql", f"-p{NAMED}"],
    "program": f"/home/{PERSON}/train.py",
    "git": {"remote": f"https://{PERSON}:{NAMED}@example.org/x.git"},
    "email": f"{PERSON}@example.org",
    "host": "10.17.2.3",
}
MORE = (
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<svg onload=alert(1)>",
    "<meta http-equiv=refresh content='0;url=http://192.0.2.1/'>",
    "<base href=http://192.0.2.1/>",
    "<style>@import 'http://192.0.2.1/x.css';</style>",
    "</script><script src=http://192.0.2.1/x.js></script>",
    "<img src=http://192.0.2.1/x.png>",
    "![x](http://192.0.2.1/x.png)",
    "<http://192.0.2.1/> [a][1]\n\n[1]: javascript:alert(1)",
    "\u2028alert(1)//\u2029",
    "${alert(1)} #{alert(1)} {%% include '/etc/passwd' %%}",
    "--8<-- 'mkdocs.yml'",
    "!!! note\n    <script>alert(1)</script>",
    "---\ntemplate: x.html\ntitle: taken\n---\n\n{% raw %}{{ 7*7 }}{% endraw %}",
    '```mermaid\ngraph TD; A-->B; click A "javascript:alert(1)"\n```',
    "<math><maction actiontype='statusline' xlink:href='javascript:alert(1)'>x</maction></math>",
    "[x](vbscript:alert(1)) [y](data:text/html,<script>alert(1)</script>) ![z](javascript:alert(1))",
    "x { onclick=alert(1) }\n{: onmouseover=alert(1) }",
    "__proto__",
    "constructor",
    ":octicons-alert-16: $$\\href{javascript:alert(1)}{x}$$",
)
ACTIVE = (
    "[onerror],[onload],[onmouseover],[onfocus],[onclick],iframe,base,a[href^='javascript:' i],[src^='http']"
)


@dataclass
class Tally:
    """The number of trials, and the promises that were not kept."""

    done: int = 0
    broken: list[str] = field(default_factory=list)

    def holds(self, truth: object, what: str) -> None:
        """Records ``what`` if it is not true."""
        if not truth:
            self.broken.append(what)


def too_long(*_: object) -> None:
    raise TimeoutError


def mutants(folder: Path, seeds: range) -> Tally:
    """Damaged copies of every example, made from each of the ``seeds``, counted for each format."""
    tally, formats = Tally(), Counter[str]()
    signal.signal(signal.SIGALRM, too_long)
    for example in examples():
        content, file = (EXAMPLES / example).read_bytes(), folder / example.name
        for seed in seeds:
            for one in damaged(content, seed, 12, LINE_BYTES):
                file.write_bytes(one.content)
                what = f"{example}, {one.name}, seed {seed}"
                signal.alarm(LONGEST_S)
                try:
                    reading = read_all(file)
                except (Exception, TimeoutError) as err:
                    tally.holds(False, f"{what}: {err!r}")
                    continue
                finally:
                    signal.alarm(0)
                tally.done += 1
                formats[example.parent.name] += 1
                defects = [str(p) for p in reading.problems if "is a defect" in str(p)]
                tally.holds(not defects, f"{what}: {defects}")
                for series in (s for attempt in reading.attempts for s in attempt.series.values()):
                    same = len(series.steps) == len(series.values) == len(series.times)
                    tally.holds(same, f"{what}: columns differ in length")
        file.unlink()
    print("  " + ", ".join(f"{name} {n:,}" for name, n in sorted(formats.items())))
    return tally


def workspace(root: Path, *, plain: bool) -> Path:
    """A new workspace without runs. If it is ``plain``, its theme is one line."""
    command = [sys.executable, "-m", "chronicle", "init", str(root)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(root / "runs")
    (root / "runs").mkdir()
    if plain:
        (root / "theme").mkdir()
        (root / "theme" / "main.html").write_text("{{ page.content }}")
        (root / "mkdocs.yml").write_text(
            "site_name: x\ntheme: {name: null, custom_dir: theme}\nplugins: []\nuse_directory_urls: false\n"
            "docs_dir: build/docs\nsite_dir: build/site\n"
        )
    return root


def rows_of_csv(title: str = "loss") -> str:
    return f"step,{title}\n" + "".join(f"{i},{2 - i / 100}\n" for i in range(60))


def planted_text(example: Path, rng: random.Random) -> bytes:
    """An example that is text, with added lines that contain secrets, at its beginning, in its middle and at
    its end."""
    lines = example.read_bytes().splitlines(keepends=True)
    said = [json.dumps({"config": SETTINGS}), SAID, FOUND, f"Traceback: {FOUND}", f"RuntimeError: {FOUND}"]
    if example.suffix not in (".jsonl", ".ndjson"):
        said = said[1:]
    for line in said:
        at = rng.choice((0, rng.randrange(len(lines) + 1), len(lines)))
        lines.insert(at, line.encode() + b"\n")
    return b"".join(lines)


def planted(runs: Path, rng: random.Random, logs: Iterable[Path]) -> int:
    """Makes a run for every kind of input and for examples, with secrets in each. Returns the number of
    secrets."""
    for number, example in enumerate(logs):
        content = (EXAMPLES / example).read_bytes()
        if is_text(content):
            place = runs / f"example-{number}"
            place.mkdir()
            (place / example.name).write_bytes(planted_text(EXAMPLES / example, rng))
            with suppress(ValueError, TypeError):  # it is no document
                document = {"config": SETTINGS, **json.loads(content), **SETTINGS}
                (place / example.name).write_text(json.dumps(document))
    for number, names in enumerate(row.names for row in SIDE_FILES):
        place = runs / f"aside-{number}"
        file = place / names[0].replace("*", "-1")
        file.parent.mkdir(parents=True)
        (place / "m.csv").write_text(rows_of_csv())
        overrides = [f"+hub_token={NAMED}", f"out=/home/{PERSON}/x", f"note={SHAPED}"]
        file.write_text(json.dumps(overrides if "overrides" in file.name else SETTINGS, indent=1))
        if file.suffix in (".yaml", ".yml") and "overrides" not in file.name:
            file.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in SETTINGS.items()))
    points = {"loss": [(i, 2 - i / 100) for i in range(60)]}
    for name in (
        "wandb",
        "mlflow",
        "trackio",
        "events",
        "people",
        "named",
        "unreadable",
        "packed",
        "named-run",
    ):
        (runs / name).mkdir()
    history = [wandb_history({"loss": 2 - i / 100}, i) for i in range(60)]
    run = wandb_run(config=SETTINGS, name=SHAPED, project=f"of {SHAPED}", host="10.17.2.3")
    told = [wandb_output(SAID + "\n"), wandb_output(FOUND + "\n"), wandb_alert(FOUND, SAID)]
    (runs / "wandb" / "run-a1b2c3d4.wandb").write_bytes(wandb_file([run, *history, *told, wandb_exit(1)]))
    mlflow_folder(runs / "mlflow" / "1" / "r1", points)
    for part in ("params", "tags"):
        (runs / "mlflow" / "1" / "r1" / part).mkdir()
        for name, value in {"api_key": NAMED, "mlflow.source.name": SAID, "mlflow.user": PERSON}.items():
            (runs / "mlflow" / "1" / "r1" / part / name).write_text(value)
    trackio_log(runs / "trackio" / "t.db", points, name=SHAPED)
    log = runs / "events" / "events.out.tfevents.1700000000.host"
    event_log(log, points)
    for title in (SHAPED, FOUND):
        tagged = [frame(event(1.7e9 + i, i, summary([(f"loss/{title}", simple(2.0))]))) for i in range(60)]
        log.write_bytes(log.read_bytes() + b"".join(tagged))
    (runs / "people" / "m.csv").write_text(rows_of_csv(f"loss {SHAPED}"))
    (runs / "people" / "notes.md").write_text(f"# Notes\n\n{SAID}\n\n- 2026-01-01 · ada · tried: {FOUND}\n")
    (runs / "people" / "NOTES.log").write_text(f"{FOUND}\n")
    texts = ("title", "project", "description", "source", "licence", "quote")
    settings = "".join(f"{name} = {json.dumps(FOUND)}\n" for name in texts) + f'tags = ["{SHAPED}"]\n'
    facts = f'[facts]\npassword = "{NAMED}"\n"{SHAPED}" = "x"\napi_keys = ["{NAMED}"]\nuser = "{PERSON}"\n'
    (runs / "people" / "run.toml").write_text(settings + facts)
    (runs / "named" / f"{SHAPED}.csv").write_text(rows_of_csv())
    (runs / "named" / f"api_key={NAMED}.csv").write_text(rows_of_csv())
    (runs / "unreadable" / f"{SHAPED}.jsonl").write_text('{"step": 1, "loss"')
    (runs / "packed" / f"{SHAPED}.log.gz").write_bytes(
        gzip.compress(f"{SAID}\n{FOUND}\n".encode() + rows_of_csv().encode())[:-9]
    )
    (runs / "named-run" / "run.toml").write_text(f'paths = ["https://x:{NAMED}@192.0.2.1/{SHAPED}"]\n')
    return len(list(runs.iterdir()))


def secrets(folder: Path, seed: int, logs: Iterable[Path]) -> Tally:
    """Secrets in every kind of input, and those that a build publishes."""
    tally, root = Tally(), workspace(folder / "secrets", plain=True)
    (root / "chronicle.toml").write_text("[redact]\nidentities = true\n")
    tally.done = planted(root / "runs", random.Random(seed), logs)
    command = [sys.executable, "-m", "chronicle", "build", "-q", "--jobs", "1"]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True)
    tally.holds((root / "build" / "site" / "index.html").is_file(), f"no site: {ran.stderr[-400:]}")
    for file in (f for part in ("site", "docs") for f in (root / "build" / part).rglob("*") if f.is_file()):
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
        for secret in (*SECRETS, str(root)):
            if secret.encode() in content + file.name.encode():
                at = content.find(secret.encode())
                near = content[max(0, at - 60) : at + 60].decode(errors="replace")
                tally.holds(False, f"{file.relative_to(root)} holds {secret}: …{near}…")
    shutil.rmtree(root)
    return tally


def attacking(runs: Path, texts: list[str]) -> None:
    """A run for each text, which is in names of files and metrics, lines, notes and settings."""
    for number, text in enumerate(texts):
        place, line = runs / f"run-{number}", " ".join(text.split())
        place.mkdir()
        name = quote(line[:40], safe=" <>'\"()=;:{}*#!&", errors="replace").replace("/", "_") or "log"
        cell = text.replace('"', '""').encode("utf-8", "replace").decode()
        (place / f"{name}.csv").write_text(
            f'step,train/loss,"{cell}"\n' + "".join(f"{i},{3 / (1 + i) ** 0.2:.5f},1\n" for i in range(80))
        )
        console = "".join(f"step {i} loss {2 - i / 100:.3f}\n" for i in range(60))
        (place / "b.log").write_bytes(f"{line}\n{console}RuntimeError: {line}\n".encode("utf-8", "replace"))
        settings = dict.fromkeys(("title", "project", "description", "source", "licence", "quote"), text)
        lines = [f"{key} = {json.dumps(plain(value))}\n" for key, value in settings.items()]
        facts = f"[facts]\n{json.dumps(plain(text))} = {json.dumps(plain(text))}\n" if text else ""
        (place / "run.toml").write_text("".join([*lines, f"tags = [{json.dumps(plain(text))}]\n", facts]))
        (place / "notes.md").write_bytes(f"# {line}\n\n{text}\n".encode("utf-8", "replace"))


def plain(text: str) -> str:
    """The text as TOML can contain it."""
    return "".join(sign for sign in text if sign.isprintable() or sign == "\n")


def effects(page: playwright.Page, seen: list[str], address: str) -> Iterator[str]:
    """The effects of a page beyond showing text."""
    page.goto("about:blank")  # from one hash to another is no new page
    seen.clear()
    page.goto(address)
    page.wait_for_load_state("load")
    try:
        acting = page.eval_on_selector_all(ACTIVE, "all => all.map(e => e.outerHTML.slice(0, 120))")
    except playwright.Error:
        acting = (
            [f"it has gone to {page.url}"] if page.url.partition("#")[0] != address.partition("#")[0] else []
        )
    yield from (*seen, *acting)


def browsed(folder: Path) -> Tally:
    """Opens every page of a site of attacking runs in a real Chromium."""
    tally, root = Tally(), workspace(folder / "hostile", plain=False)
    attacking(root / "runs", [*HOSTILE, *MORE])
    command = [sys.executable, "-m", "chronicle", "build", "-q", "--jobs", "1"]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True)
    site, seen = root / "build" / "site", list[str]()
    pages = [
        p for p in sorted(site.rglob("*.html")) if p.relative_to(site).parts[0] not in ("guide", "cases")
    ]
    tally.holds(len(pages) > len(MORE), f"no site: {ran.stderr[-400:]}")
    addresses = [page.as_uri() for page in pages]
    addresses += [
        f"{(site / 'assets/view.html').as_uri()}#run=run-{n}" for n in range(len([*HOSTILE, *MORE]))
    ]
    with playwright.sync_playwright() as play:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page()
        page.on("dialog", lambda dialog: (seen.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: seen.append(f"an error: {error}"))
        page.on(
            "request", lambda asked: asked.url.startswith("http") and seen.append(f"asks for {asked.url}")
        )
        for address in addresses:
            tally.done += 1
            tally.broken += [f"{address[-60:]}: {effect}" for effect in effects(page, seen, address)]
        browser.close()
    shutil.rmtree(root)
    return tally


def rows(folder: Path, seeds: int, seed: int) -> Mapping[str, Callable[[], Tally]]:
    """The rows of the table by name."""
    folder.mkdir(exist_ok=True)
    return {
        "damaged copies of the examples of all formats read": lambda: mutants(
            folder, range(seed, seed + seeds)
        ),
        "runs with secrets planted, one for each kind of input": lambda: secrets(folder, seed, examples()),
        "pages of runs that attack, opened in Chromium": lambda: browsed(folder),
    }
