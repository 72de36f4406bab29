"""What is withheld before a run is published, in texts and in whole sites."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.depth import LONG
from tests.logs import plain_engine

from chronicle.build import build, places
from chronicle.build.produce import Product, produce
from chronicle.build.redact import Redactor, redactor_of, with_names
from chronicle.build.sources import expand
from chronicle.errors import ConfigError
from chronicle.metrics.names import Linear
from chronicle.model import Attempt, Fault, Place, Role, Series
from chronicle.workspace.config import Redact, WorkspaceConfig, from_table
from chronicle.workspace.folders import Workspace, run_in

ALL = Redact(identities=True)
# Made up, each in the shape of its kind; put together here, so that no scanner takes this file for a leak.
AWS = "AKIA" + "Z7Q4M2N8P6R3S5T9"
HUGGING_FACE = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567"
OPENAI = "sk-proj-" + "Ab3Cd4Ef5Gh6Ij7Kl8Mn9Op0Qr1St2Uv3"
ROOT, HOME = "/" + "root", "/" + "home"
PLAIN = "correcthorse9battery"
MADE = "c0rrectHorse9BatteryZ7"  # as a machine makes them
HEX = "3f786850e387550fdab836ed7e6dc881de23001b"  # the shape of a key of W&B, and of a commit
MIXED = "aB3d" * 20
# How keys begin, and how many characters follow.
SHAPES = {
    "wandb_v1_": 77,
    "gsk_": 52,
    "xai-": 80,
    "pplx-": 48,
    "npm_": 36,
    "pypi-AgEIcHlwaS5vcmc": 60,
    "rpa_": 43,
    "pcsk_": 60,
    "hvs.": 24,
    "GOCSPX-": 28,
    "sk_live_": 24,
    "tgp_v1_": 43,
    "lsv2_pt_": 43,
    "eyJhcGlf": 40,
}


@pytest.mark.parametrize(
    ("text", "published"),
    [
        (f"key {AWS} used", "key (withheld) used"),
        (f"push with {HUGGING_FACE}", "push with (withheld)"),
        (f"client({OPENAI})", "client((withheld))"),
        (f"--api_key {PLAIN} --lr 0.1", "--api_key (withheld) --lr 0.1"),
        (f"--wandb-api-key={PLAIN}", "--wandb-api-key=(withheld)"),
        (f"WANDB_API_KEY={PLAIN} python train.py", "WANDB_API_KEY=(withheld) python train.py"),
        (f'{{"password": "{PLAIN}", "lr": 0.1}}', '{"password": "(withheld)", "lr": 0.1}'),
        (f"postgres://ada:{PLAIN}@db.example.org/runs", "postgres://(withheld)@db.example.org/runs"),
        (f"Authorization: Bearer {PLAIN}", "Authorization: (withheld)"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----\nafter",
            "(withheld)\nafter",
        ),
        # What only looks like one.
        ("eos_token=</s> max_tokens=4096 tokenizer=gpt2", "eos_token=</s> max_tokens=4096 tokenizer=gpt2"),
        (
            "commit 3f786850e387550fdab836ed7e6dc881de23001b",
            "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        ),
        ("hub_token=<HUB_TOKEN> api_key=None", "hub_token=<HUB_TOKEN> api_key=None"),
        ("loss 2.5 at step 12 in train/loss", "loss 2.5 at step 12 in train/loss"),
        ("token: 12 tokens per step", "token: 12 tokens per step"),
    ],
)
def test_a_secret_is_withheld_and_the_text_around_it_stays(text, published):
    assert Redactor(Redact())(text) == published


@pytest.mark.parametrize(
    ("text", "published"),
    [
        # Quotes, and signs that end an item elsewhere.
        (f'password="my long {PLAIN} phrase", lr=1', 'password="(withheld)", lr=1'),
        (f"password=ab;{PLAIN}, lr=1", "password=(withheld), lr=1"),
        (f"login(password=ab){PLAIN})", "login(password=(withheld))"),
        (f'{{\\"password\\": \\"{PLAIN}\\"}}', '{\\"password\\": \\"(withheld)\\"}'),
        (f"['--api_key', '{PLAIN}', '--lr', '1']", "['--api_key', '(withheld)', '--lr', '1']"),
        (f"conf.set('spark.password', '{PLAIN}')", "conf.set('spark.password', '(withheld)')"),
        (f'cmd="--api_key {PLAIN} --lr 1"', 'cmd="--api_key (withheld) --lr 1"'),
        (f"API key: {PLAIN}", "API key: (withheld)"),
        ("Authorization: Basic " + "dXNlcjpjb3Jy", "Authorization: (withheld)"),
        # Names that are those of a secret only where no person would write the value.
        (
            f"MLFLOW_TRACKING_TOKEN={MADE} GH_TOKEN={MADE}",
            "MLFLOW_TRACKING_TOKEN=(withheld) GH_TOKEN=(withheld)",
        ),
        (f"wandb.login(key='{HEX}')", "wandb.login(key='(withheld)')"),
        (f"wandb login {HEX}", "wandb login (withheld)"),
        (f"  wandb_api_key ......... {HEX}", "  wandb_api_key ......... (withheld)"),
        (f"https://example.org/c?sv=1&sig={MADE}%3D&se=2", "https://example.org/c?sv=1&sig=(withheld)&se=2"),
        # Addresses.
        (f"redis://:{PLAIN}@db:6379/0", "redis://(withheld)@db:6379/0"),
        (f"postgres://ada:a/b@{PLAIN}@db/runs", "postgres://(withheld)@db/runs"),
        (f"https://{HEX}@example.org/x.git", "https://(withheld)@example.org/x.git"),
        # Shapes.
        *((start + MIXED[:n], "(withheld)") for start, n in SHAPES.items()),
        # What only looks like one.
        ("Unexpected key model.layers.12.self_attn.q_proj.weight", None),
        ("missing key checkpoint_step_0001000: retry", None),
        ("image_token=<image> pad_token=[PAD] num_tokens=1234567890123456789", None),
        ("http://node7:8080/path/v2@main and s3://bucket/run@1", None),
        ("forward_pass: 1234 ms, hash_key=layer_12_attention", None),
    ],
)
def test_a_secret_is_known_however_it_is_written(text, published):
    assert Redactor(Redact())(text) == (published or text)


WORD = "correcthorsebattery"  # that a person chose
SIGNED = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # without sixteen letters and digits in a row
UUID = "11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(
    ("text", "published"),
    [
        (f"mysql -u root -p{WORD} runs", "mysql -u root -p(withheld) runs"),
        (f"/usr/bin/mysqldump -p'{WORD}' runs | gzip", "/usr/bin/mysqldump -p'(withheld)' runs | gzip"),
        (f"sshpass -p {WORD} ssh ada@node", "sshpass -p (withheld) ssh ada@node"),
        (f"['sshpass', '-p', '{WORD}', 'ssh']", "['sshpass', '-p', '(withheld)', 'ssh']"),
        (f"curl -s -u 'ada:{WORD}' -O https://x.org", "curl -s -u 'ada:(withheld)' -O https://x.org"),
        (f"curl --proxy-user a:{WORD} -ub:{WORD} x", "curl --proxy-user a:(withheld) -ub:(withheld) x"),
        (f"curl -u ada:p&a;{WORD} x && ls", "curl -u ada:(withheld) x && ls"),
        (f"redis-cli -h r -a {WORD} ping", "redis-cli -h r -a (withheld) ping"),
        (f"docker login -u ada -p {WORD} r.io", "docker login -u ada -p (withheld) r.io"),
        (f"sudo docker exec db mariadb -p{WORD}", "sudo docker exec db mariadb -p(withheld)"),
        (f"az login --service-principal -p {WORD} x", "az login --service-principal -p (withheld) x"),
        (f"smbclient //h/s -U ada%{WORD}", "smbclient //h/s -U ada%(withheld)"),
        (f"lftp -u ada,{WORD} sftp://h", "lftp -u ada,(withheld) sftp://h"),
        (f"htpasswd -b f ada {WORD}", "htpasswd -b f ada (withheld)"),
        (f"7z x -p{WORD} a.7z; zip -P {WORD} b.zip c", "7z x -p(withheld) a.7z; zip -P (withheld) b.zip c"),
        (f"openssl rsa -passin pass:{WORD}", "openssl rsa -passin pass:(withheld)"),
        (
            f"aws configure set x.aws_secret_access_key {WORD}",
            "aws configure set x.aws_secret_access_key (withheld)",
        ),
        (f"wandb login {WORD} && python train.py", "wandb login (withheld) && python train.py"),
        (
            f"wandb login --relogin --host https://x.org {WORD}",
            "wandb login --relogin --host https://x.org (withheld)",
        ),
        (f"['vault', 'login', '-no-print', '{WORD}']", "['vault', 'login', '-no-print', '(withheld)']"),
        (f"ngrok config add-authtoken {WORD}", "ngrok config add-authtoken (withheld)"),
        (f"rclone obscure {WORD}", "rclone obscure (withheld)"),
        (rf"net use z: \\nas\runs {WORD} /user:ada", r"net use z: \\nas\runs (withheld) /user:ada"),
        (f"net user ada {WORD} /add", "net user ada (withheld) /add"),
        (f"dvc remote modify --local s3 password {WORD}", "dvc remote modify --local s3 password (withheld)"),
        (f"echo '{WORD}' | docker login --password-stdin", "echo (withheld) | docker login --password-stdin"),
        (f"PGPASSWORD={WORD} psql -h db", "PGPASSWORD=(withheld) psql -h db"),
        (f"SSHPASS={WORD} MYSQL_PWD={WORD} run", "SSHPASS=(withheld) MYSQL_PWD=(withheld) run"),
        (f"aws_secret_access_key {SIGNED}", "aws_secret_access_key (withheld)"),
        (f"https://x.org/c?sv=1&sig={SIGNED}%3D&se=2", "https://x.org/c?sv=1&sig=(withheld)&se=2"),
        (
            f"https://open.feishu.cn/open-apis/bot/v2/hook/{UUID}",
            "https://open.feishu.cn/open-apis/bot/v2/hook/(withheld)",
        ),
        (f"mysql, -p{WORD}, runs", "mysql, -p(withheld), runs"),  # as a setting that is a list is shown
        (f"sshpass, -p, {WORD}, ssh, x", "sshpass, -p, (withheld), ssh, x"),
        (f"ssh-keygen -t rsa -N {WORD} -f key", "ssh-keygen -t rsa -N (withheld) -f key"),
        (f"Driver={{x}};Uid=ada;Pwd={WORD};Port=1", "Driver={x};Uid=ada;Pwd=(withheld);Port=1"),
        (f"AZURE_DEVOPS_EXT_PAT={MADE * 2}", "AZURE_DEVOPS_EXT_PAT=(withheld)"),
        (f"ghr_{MADE * 4} ghp_{MADE}x", "(withheld) (withheld)"),
        (f"lin_api_{MADE * 2} glsa_{MADE * 2}_0af1 secret_{MADE * 2}", "(withheld) (withheld) (withheld)"),
        (f"ATATT3xFf{MADE}-= {'a1c8Q'}~{MADE}.{MADE}", "(withheld) (withheld)"),
        (f"refresh 1//0{MADE * 2}", "refresh (withheld)"),
        (f"https://hooks.slack.com/triggers/T01/23/{HEX[:32]}", "https://hooks.(withheld)"),
        (f"https://mm.example.org/hooks/{HEX[:26]}", "https://mm.example.org/hooks/(withheld)"),
        (f"PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\n{MADE}\nPrivate-MAC: {HEX} x", "(withheld) x"),
        # What only looks like one.
        (f"ckpt_{HEX} model_ResNet50WithAdamWAndCosineSchedule hooks/pre-commit PWD=/runs;pwd", None),
        ("docker run -p 8080:80 img; mysql --port=3306 -p db", None),
        ("curl -u https://x.org/a; wget -U agent https://x.org:80/f", None),
        ("echo $PASS | sudo -S ls; redis-cli -p 6379 -a $PW; sshpass -p ${PW} ssh x", None),
        ("aws configure set region us-east-1; echo training | tee log", None),
        ("wandb: Use `wandb login --relogin` to force relogin", None),
        ("please run wandb login before training; wandb login --host https://wandb.example.org", None),
        (r"net use z: \\nas\runs /user:ada; a net user count of 12 / 3, vault login -method=oidc", None),
        ("multipass: 12 pass: 3 bypass=abcdef compass: north", None),
    ],
)
def test_what_a_program_takes_as_a_secret_is_withheld(text, published):
    assert Redactor(Redact())(text) == (published or text)


@pytest.mark.parametrize(
    ("items", "published"),
    [
        (["mysql", f"-p{WORD}", "-uroot"], ["mysql", "-p(withheld)", "-uroot"]),
        (["sudo", "mysql", "-p, 1 'x)y", "db"], ["sudo", "mysql", "-p(withheld)", "db"]),
        (("sshpass", "-p", "two words", "ssh", "x"), ("sshpass", "-p", "(withheld)", "ssh", "x")),
        ([7, "mysql", f"-p{WORD}"], [7, "mysql", "-p(withheld)"]),
        (["bash", "-c", f"mysql -p{WORD}"], ["bash", "-c", "mysql -p(withheld)"]),
        (
            {"args/0": "mysql", "args/1": f"-p{WORD}", "lr": 1, "x/0": "-p7"},
            {"args/0": "mysql", "args/1": "-p(withheld)", "lr": 1, "x/0": "-p7"},
        ),
        (["mysql", "-p", "runs"], None),
        (["docker", "run", "-p", "8080:80"], None),
        ([], None),
    ],
)
def test_a_list_of_arguments_is_a_command_too(items, published):
    redact = Redactor(Redact())
    assert redact.value(items) == (published or items)
    assert len(redact.withheld()) == (published is not None)


@pytest.mark.parametrize(
    "facts",
    [
        {"config/secrets/wandb": PLAIN},
        {"config/api_keys": [PLAIN]},
        {"passwords": [PLAIN, "x"]},
        {"credentials": {"who": "ada", "what": PLAIN}},
        {"config/hf/tokens": MADE},
        {"config/auth": MADE},
    ],
)
def test_a_fact_is_withheld_with_all_that_is_in_it(facts):
    assert Redactor(Redact()).value(facts) == dict.fromkeys(facts, "(withheld)")


@pytest.mark.parametrize(
    ("text", "published"),
    [
        (f"saved to {HOME}/ada/runs/a.pt", "saved to ~/runs/a.pt"),
        ("saved to /mnt/lustre/users/ada/runs/a.pt", "saved to ~/runs/a.pt"),
        (r"saved to C:\Users\Ada\runs", r"saved to ~\runs"),
        (f"{ROOT}/train.py", "~/train.py"),
        ("ask ada@example.org", "ask (withheld)"),
        ("git@example.org:team/code", "git@example.org:team/code"),
        ("master 10.12.7.3:29500", "master (withheld):29500"),
        ("master fe80::a00:27ff:fe4e:66a1", "master (withheld)"),
        ("listens on 127.0.0.1 at 12:30:45", "listens on 127.0.0.1 at 12:30:45"),
        ("gpu-node-17.cluster fell silent", "host-1 fell silent"),
        ("gpu-node-17 fell silent", "host-1 fell silent"),
        ("gpu-node-170 fell silent", "gpu-node-170 fell silent"),
        ("adalovelace stopped it", "user-1 stopped it"),
    ],
)
def test_identities_are_withheld_when_asked_for(text, published):
    named = {"hosts": ["gpu-node-17.cluster"], "users": ["adalovelace"]}
    assert Redactor(ALL, **named)(text) == published
    assert Redactor(Redact(), **named)(text) == text


@pytest.mark.parametrize(
    ("arguments", "published"),
    [
        (["--password", PLAIN, "--lr", 0.1], ["--password", "(withheld)", "--lr", 0.1]),
        (["-n", 4, "--api_key", PLAIN], ["-n", 4, "--api_key", "(withheld)"]),
        (["password", "username", "--password"], ["password", "username", "--password"]),
    ],
)
def test_the_secret_after_an_option_is_withheld_in_lists_of_arguments(arguments, published):
    redact = Redactor(Redact())
    assert redact.value({"args": arguments}) == {"args": published}
    apart = {f"config/args/{i}": argument for i, argument in enumerate(arguments)}
    assert redact.value(apart) == dict(zip(apart, published, strict=True))


def test_facts_are_withheld_by_their_names():
    redact = Redactor(Redact())
    facts = {"config/api_key": PLAIN, "apiKey": PLAIN, "token": PLAIN, "password": 12345, "lr": 0.1}
    assert redact.value(facts) == {
        "config/api_key": "(withheld)",
        "apiKey": "(withheld)",
        "token": "(withheld)",
        "password": "(withheld)",
        "lr": 0.1,
    }
    assert redact.withheld() == [
        "Withheld by [redact] of chronicle.toml: 4 texts with what looks like a secret"
    ]
    kept = {"pad_token": "<pad>", "num_key_value_heads": 8, "monkey": "abcdef", "secret": True, "key": "abc"}
    assert redact.value(kept) == kept


def test_own_patterns_and_what_is_allowed():
    rules = Redact(patterns=["Project [A-Z]\\w+"], allow=["^correct"])
    redact = Redactor(rules)
    assert redact(f"Project Falcon, password={PLAIN}") == f"(withheld), password={PLAIN}"
    assert Redactor(Redact(secrets=False))(f"password={PLAIN}") == f"password={PLAIN}"
    assert Redactor(Redact(secrets=False)).value({"password": PLAIN}) == {"password": PLAIN}


def test_patterns_of_a_stranger_are_matched_in_linear_time():
    redact = Redactor(Redact(patterns=[Linear("(a+)+b"), Linear("Project [A-Z]")]))
    assert redact("a" * 50_000 + " of Project F\ud800") == "a" * 50_000 + " of (withheld)?"
    assert redact("aab") == "(withheld)"


def test_a_pattern_that_is_none():
    with pytest.raises(ConfigError) as raised:
        from_table(WorkspaceConfig, {"redact": {"patterns": ["("]}}, "chronicle.toml")
    assert str(raised.value) == (
        "chronicle.toml: redact.patterns[0]: '(' is not a regular expression: "
        "missing ), unterminated subpattern at position 0"
    )


def test_one_name_has_one_number_in_series_and_faults():
    steps, values = np.arange(3), np.ones(3)
    series = {"loss": Series("loss", Role.LOSS, steps, values, values)}
    fault = Fault(Place("dmesg", 3), "Xid 79 on rack7-node002", host="rack7-node002", kind="xid")
    attempt = Attempt("a", ("a",), series, {"nodes": "rack7-node[001-003]", "user": "root"}, (fault,))
    redact = redactor_of(ALL, [attempt])
    published = redact.value(attempt)
    assert published.facts == {"nodes": "host-[1-3]", "user": "root"}
    (same,) = published.faults
    assert repr(same) == repr(replace(fault, what="Xid 79 on host-2", host="host-2"))  # its time is NaN
    assert published.series["loss"].values is values
    assert redact.names == {"host-1": "rack7-node001", "host-2": "rack7-node002", "host-3": "rack7-node003"}


class Points(np.ndarray):
    """Points that nobody may write out: a run has millions of them."""

    def __repr__(self):
        raise AssertionError("points were made text")

    __str__ = __repr__


def test_points_are_not_looked_at():
    values = np.ones(3).view(Points)
    series = {"loss": Series("loss", Role.LOSS, values, values, values)}
    attempts = (Attempt("a", ("a",), series, {"password": PLAIN}),)
    (published,) = Redactor(Redact()).value(attempts)
    assert published.facts == {"password": "(withheld)"} and published.series["loss"].values is values
    assert Redactor(Redact()).fact("attempts", attempts)[0].facts == {"password": "(withheld)"}


def test_people_and_machines_that_run_toml_names_are_numbered():
    facts = {"user": "adalovelace", "where": {"host": "rack7-node001"}}
    redact = redactor_of(ALL, facts=facts)
    assert redact.value(facts) == {"user": "user-1", "where": {"host": "host-1"}}
    assert redact("adalovelace on rack7-node001") == "user-1 on host-1"


def _published(folder, workspace) -> bytes:
    report = build(workspace, expand([folder]), places(workspace, None))
    assert report.entries, report.unreadable
    made = [
        report.site,
        workspace.root / "build/docs",
        *(outcome.folder / file for outcome in report.outcomes for file in outcome.files),
    ]
    files = [file for path in made for file in ([path] if path.is_file() else path.rglob("*"))]
    return b"\0".join(f.name.encode() + f.read_bytes() for f in files if f.is_file())


@pytest.fixture
def planted(tmp_path):
    """A workspace with one run for each kind of input, and a secret in each."""
    (tmp_path / "chronicle.toml").write_text("[redact]\nidentities = true\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\ndocs_dir: build/docs\ntheme: material\n")
    rows = "".join(f"{i},{2 - i / 100}\n" for i in range(60))
    kinds = {
        "csv": {"metrics.csv": f"step,loss,loss {AWS}\n" + rows.replace("\n", ",1\n")},
        "console": {
            "train.log": f"python train.py --api_key {PLAIN} in {HOME}/adalovelace/x on 10.1.2.3\n"
            + "".join(f"step {i} loss {2 - i / 100:.3f}\n" for i in range(60))
        },
        "jsonl": {
            "log.jsonl": json.dumps({"config": {"hub_token": PLAIN, "user": "adalovelace"}})
            + "\n"
            + "".join(json.dumps({"step": i, "loss": 2 - i / 100}) + "\n" for i in range(60))
        },
        "notes": {
            "m.csv": "step,loss\n" + rows,
            "notes.md": f"- 2026-11-18T22:41+01:00 · bo · decision: used {HUGGING_FACE}\n\nsee {AWS}\n",
            "run.toml": f'title = "with {OPENAI}"\n[facts]\npassword = "{PLAIN}"\n"{HUGGING_FACE}" = "x"\n'
            'user = "gracehopper"\n',
        },
        "bad": {"m.csv": "step,loss\n" + rows, f"{HUGGING_FACE}.jsonl": '{"step": 1, "loss"'},
    }
    for name, files in kinds.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        for file, text in files.items():
            (tmp_path / "runs" / name / file).write_text(text)
    return Workspace.find(tmp_path)


@pytest.mark.slow
def test_what_no_reader_knows_is_named_without_its_secrets(tmp_path):
    """The title of a run that could not be read, and the name of a text that no reader knows."""
    (place := tmp_path / "runs" / "a").mkdir(parents=True)
    (place / "m.csv").write_text("")
    (place / "run.toml").write_text(f'title = "with {OPENAI}"\n')
    (tmp_path / "chronicle.toml").write_text("")
    plain_engine(tmp_path)
    workspace = Workspace.find(tmp_path)
    report = build(workspace, workspace.runs(), places(workspace, None), unknown=[f"b/{HUGGING_FACE}.log"])
    page = (tmp_path / "build" / "docs" / "unreadable.md").read_text("utf-8")
    assert "with (withheld)" in page and "b/(withheld).log" in page
    assert OPENAI not in page + str(report.unreadable) and HUGGING_FACE not in page


@pytest.mark.slow
def test_no_planted_secret_is_in_any_published_file(planted):
    if not LONG:  # its theme shows what build/docs holds, which is looked at as well
        plain_engine(planted.root)
    published = _published(planted.root, planted)
    for secret in (
        AWS,
        HUGGING_FACE,
        OPENAI,
        PLAIN,
        "adalovelace",
        "gracehopper",
        "10.1.2.3",
        str(planted.root),
    ):
        assert secret.encode() not in published, secret
    page = (planted.root / "build/docs/runs/notes/index.md").read_text("utf-8")
    assert "Withheld by" in page


def test_machine_logs_still_find_their_run_by_the_real_names(planted):
    entry = produce(Product(run_in(planted.runs_folder / "csv"), planted.config, planted.root / "e")).entry
    row = {**entry.attempts[0], "nodes": "host-[1-2]"}
    names = {"host-1": "n7", "host-2": "n9"}
    assert with_names(replace(entry, attempts=(row,)), names).attempts[0]["nodes"] == "n[7,9]"


@pytest.mark.parametrize("pattern", [r"\d{4}-\d\d-\d\d", ".*"])
def test_a_day_may_be_withheld(pattern, tmp_path):
    """What was left of it was no day, and the run was none."""
    (place := tmp_path / "runs" / "a").mkdir(parents=True)
    (place / "m.csv").write_text("step,loss\n" + "".join(f"{i},{9 - i}\n" for i in range(9)))
    (place / "run.toml").write_text("date = 2026-11-18\n")
    settings = WorkspaceConfig(redact=Redact(patterns=[pattern]))
    made = produce(Product(run_in(place), settings, tmp_path / "e"))
    assert made.problems == ()
    assert "2026-11-18" not in (made.folder / "entry.json").read_text("utf-8")
