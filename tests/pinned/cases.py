"""The table of cases: which command is run on which stored run, and with what."""

import csv
import fcntl
import importlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

from tests.pinned import stage
from tests.pinned.door import COLUMNS, VERSION, Dashboard, Said, command
from tests.pinned.pages import page, spec

MATCHES = (
    *("match", "match-again", "summaries", "troubles", "refusals", "questions", "guided", "budget", "external"),
    *("best-of-n", "agents", "three", "fixed", "tie", "alone", "names", "many", "many-again", "faults", "referee"),
    *("unresolved", "cut-off", "before", "stopped", "single"),
)
SEASONS = (
    *(
        "trials",
        "trials-troubled",
        "sweep",
        "tournament",
        "swiss",
        "threes",
        "joined",
        "game",
        "game-policies",
        "vision",
    ),
    *("stopped-trials", "stopped-league"),
)
KINDS = (*MATCHES, *SEASONS, "metered")
UNFINISHED = ("cut-off", "before", "stopped", "stopped-trials", "stopped-league")
SMALL = (
    "match",
    "summaries",
    "refusals",
    "questions",
    "faults",
    "referee",
    "stopped",
    "external",
    "unresolved",
    "single",
)
WHOLE = (
    *("match", "refusals", "troubles", "questions", "agents", "faults", "single", "external", "three", "trials"),
    "trials-troubled",
)
OUT = Path("out")
Data = dict[str, Any]


@dataclass(slots=True)
class Found:
    """What the commands of a case gave: texts go to a transcript, data to a JSON file."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    data: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Case:
    """One pinned case; its name is where its expected files are."""

    name: str
    play: Callable[[Found], None]


def steps(*lines: str, columns: int = COLUMNS) -> Callable[[Found], None]:
    """Commands as they would be typed, one after the other."""

    def play(found: Found) -> None:
        for line in lines:
            step(found, line.split(" "), columns)

    return play


def both(*parts: Callable[[Found], None]) -> Callable[[Found], None]:
    """Several parts of one case."""

    def play(found: Found) -> None:
        for part in parts:
            part(found)

    return play


def step(found: Found, arguments: Sequence[str], columns: int = COLUMNS, *, fresh: bool = True) -> Said:
    """One command: what it printed and every file that it left under out/."""
    if fresh:
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir()
    there = set(OUT.rglob("*"))
    done = command(arguments, columns)
    said = Said(done.code, neutral(done.out), neutral(done.err))
    name = "mashq " + " ".join(arguments) + ("" if columns == COLUMNS else f"  [{columns} columns]")
    shown = [f"exit {said.code}"]
    if "--json" in arguments and said.out[:1] in ("{", "["):
        found.data[name] = json.loads(said.out)
    elif _is_csv(arguments) and said.code == 0:
        found.data[name] = rows_of(said.out)
    elif _is_otlp(arguments) and said.code == 0:
        found.data[name] = [otlp(json.loads(line)) for line in said.out.splitlines()]
    elif _is_jsonl(arguments) and said.code == 0:
        found.data[name] = [json.loads(line) for line in said.out.splitlines()]
    elif said.out:
        shown.append(said.out.rstrip("\n"))
    shown += ["! " + line for line in said.err.rstrip("\n").split("\n") if line]
    found.texts[name] = "\n".join(shown)
    for path in sorted(set(OUT.rglob("*")) - there):
        if path.is_file() and "run.db" not in path.name and path.name not in ("lock", "manifest.json"):
            read(found, f"{name} → {path.as_posix()}", path)
    return said


def neutral(text: str) -> str:
    """A text without the one thing in it that differs from run to run: where it was made."""
    return text.replace(str(Path.cwd()), "/place")


def rows_of(text: str) -> dict[str, Any]:
    """CSV by its cells; those with a fraction are numbers, because the last digit may depend on the order of sums."""
    found = list(csv.reader(io.StringIO(text, newline="")))
    ends = "CR LF" if "\r\n" in text else "LF"
    return {
        "lines end with": ends,
        "columns": found[:1],
        "rows": [[_cell(cell) for cell in row] for row in found[1:]],
    }


def _cell(text: str) -> str | float:
    fraction = "." in text and text.replace(".", "").replace("-", "").replace("e", "").isdigit()
    try:
        return float(text) if fraction else text
    except ValueError:
        return text


def _is_csv(arguments: Sequence[str]) -> bool:
    return "csv" in arguments and "-o" not in arguments


def _is_otlp(arguments: Sequence[str]) -> bool:
    return "otel" in arguments and "-o" not in arguments


def _is_jsonl(arguments: Sequence[str]) -> bool:
    return ("jsonl" in arguments and "-o" not in arguments) or arguments[0] == "detect"


def read(found: Found, name: str, path: Path) -> None:
    """A file that a command wrote, as what it holds."""
    end = path.suffix
    text = "" if end in (".parquet", ".eval") else neutral(path.read_bytes().decode("utf-8-sig"))
    if end == ".html":
        found.data[name] = page(text)
    elif end == ".json":
        found.data[name] = json.loads(text)
    elif end == ".jsonl":
        found.data[name] = [json.loads(line) for line in text.splitlines()]
    elif end == ".csv":
        found.data[name] = rows_of(text)
    elif end == ".parquet":
        found.data[name] = parquet(path)
    elif end == ".eval":
        with zipfile.ZipFile(path) as packed:
            found.data[name] = {member: json.loads(packed.read(member)) for member in sorted(packed.namelist())}
    elif end in (".svg", ".png", ".pdf"):
        beside = path.with_suffix(".svg")
        if path != beside and beside.read_bytes() == path.read_bytes():
            found.data[name] = f"as {beside.name}"
            return
        found.data[name] = spec(json.loads(text.removeprefix("<svg>").removesuffix("</svg>")))
    else:
        found.texts[name] = text


def parquet(path: Path) -> Any:
    """A Parquet file: its columns with their types, and its rows."""
    found: Any = importlib.import_module("pyarrow.parquet").read_table(path)
    fields: list[Any] = list(found.schema)
    return {"schema": {str(one.name): str(one.type) for one in fields}, "rows": found.to_pylist()}


def otlp(document: dict[str, Any]) -> Any:
    """Spans with their attributes by name; the version of the package that exports is left out."""
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            if scope["scope"].get("version") == VERSION:
                scope["scope"]["version"] = "the present one"
    return _attributes(document)


def _attributes(value: Any) -> Any:
    if isinstance(value, list):
        rows = cast(list[Any], value)
        if rows and all(isinstance(row, dict) and sorted(cast(Data, row)) == ["key", "value"] for row in rows):
            return {row["key"]: _attributes(row["value"]) for row in rows}
        return [_attributes(row) for row in rows]
    if isinstance(value, dict):
        return {key: _attributes(one) for key, one in cast(Data, value).items()}
    return value


# What each command is asked.


def showing(kind: str) -> Callable[[Found], None]:
    """`mashq show`, narrow, wide and as a document."""
    return both(
        steps(f"show runs/{kind}"), steps(f"show runs/{kind}", columns=140), steps(f"show runs/{kind} --json")
    )


def scoring(kind: str) -> Callable[[Found], None]:
    """`mashq score` under all its options."""
    run = f"score runs/{kind}"
    plain = [run, f"{run} --json"]
    if kind not in (*MATCHES, "trials", "trials-troubled"):
        return steps(*plain)
    if kind not in WHOLE:
        few = [f"{run} --resamples 500 --refusals penalised", f"{run} --resamples 500 --format md --beta 0.02"]
        return steps(*plain, *few, f"{run} --resamples 500 --all")
    more = [f"{run} --resamples 500 --refusals {rule} --json" for rule in ("intersection", "penalised", "answered")]
    more += [f"{run} --resamples 500 --refusals {rule}" for rule in ("penalised", "answered")]
    more += [
        f"{run} --resamples 500 --beta 0 --json",
        f"{run} --resamples 500 --beta 0.25 --alpha 2 --seed 3 --json",
        f"{run} --resamples 500 --resources tokens,dollars --weights dollars=3 --json",
        f"{run} --resamples 500 --normalise reference:reference.json --json",
        f"{run} --resamples 500 --normalise match --beta 0.02",
        f"{run} --resamples 500 --format md",
        f"{run} --resamples 500 --format latex",
    ]
    if kind in ("match", "agents"):
        more += [f"{run} --resamples 500 --all", f"{run} --resamples 500 --format md --all"]
    if kind == "three":
        more += [f"{run} --resamples 500 --without rule --json", f"{run} --resamples 500 --without rule"]
    return both(steps(*plain, *more), steps(run, columns=140))


def reporting(kind: str) -> Callable[[Found], None]:
    """`mashq report` and its tables."""
    return steps(f"report runs/{kind} -o out/report.html --tables out/tables")


def exporting(kind: str) -> Callable[[Found], None]:
    """`mashq export` in every format."""
    run = f"export runs/{kind} --format"
    lines = [f"{run} csv", f"{run} latex", f"{run} latex -o out/table.tex"]
    if kind in ("refusals", "faults", "metered", "single"):
        lines += [f"{run} jsonl", f"{run} parquet -o out/results.parquet", f"{run} csv -o out/results.csv"]
        lines += [f"{run} csv --what {what}" for what in ("attempts", "events")]
        lines += [f"{run} parquet --what {what} -o out/rows.parquet" for what in ("attempts", "events")]
        lines += [f"{run} inspect -o out/logs"] + ([f"{run} otel"] if kind in ("faults", "metered") else [])
    elif kind in SMALL:
        lines += [f"{run} csv --what attempts", f"{run} jsonl --what events"]
        lines += [f"{run} otel"] if kind == "external" else [f"{run} inspect -o out/logs"]
    elif kind in ("sweep", "trials"):
        lines += [f"{run} parquet -o out/results.parquet"]
        lines += [f"{run} inspect --match 1 -o out/logs"] if kind == "sweep" else []
        lines += [f"{run} inspect --match 0 --match 2 -o out/logs"] if kind == "trials" else []
    elif kind == "names":
        lines += [f"{run} inspect -o out/logs"]
    if kind == "refusals":
        lines += [
            f"{run} otel --content",
            f"{run} jsonl --what attempts --content",
            f"{run} jsonl --what events --content",
            f"{run} inspect --what attempts -o out/logs",
            f"{run} csv --content",
        ]
        lines += [f"{run} csv --match nobody", f"{run} csv --match 0", f"{run} latex --match 0", f"{run} inspect"]
    if kind == "trials":
        lines += [
            f"{run} csv --match 1",
            f"{run} csv --what attempts --match 2 -o out/two.csv",
            f"{run} otel --match 1",
        ]
    return steps(*lines)


def planning() -> Iterable[Case]:
    """`mashq plan` for each configuration."""
    for path in sorted(stage.CONFIGS.glob("*.yaml")):
        name, document = path.name, f"plan {path.name} --json"
        if "recorded/" in path.read_text("utf-8"):  # the table shows the beginning of a path, which is not stable
            yield Case(f"plan/{path.stem}", steps(document))
        else:
            wide = steps(f"plan {name}", columns=140)
            yield Case(f"plan/{path.stem}", both(steps(f"plan {name}", document), wide))

    seasons = (
        "run match.yaml --trials 3",
        "sweep match.yaml --over rules.R=0,3 --over score.beta=0.1,0.2",
        "tournament league.yaml --trials 2",
        "tournament league.yaml --system swiss --rounds 2",
        "game match.yaml --policies frugal,rule",
        "vision match.yaml",
    )
    yield Case("plan/seasons", steps(*(f"plan {line}{form}" for line in seasons for form in ("", " --json"))))


def powering(kind: str) -> Callable[[Found], None]:
    """`mashq power`."""
    run = f"power runs/{kind}"
    lines = [run, f"{run} --json"]
    if kind == "budget":
        lines += [f"{run} --format md", f"{run} --format latex", f"{run} --players poor,rich --level 0.9"]
    if kind == "questions":
        lines += [f"{run} --power 0.5 --beta 0.01 --refusals penalised --json", f"{run} --resources tokens"]
    if kind == "match":
        lines += [f"{run} --simulate"]
    if kind == "three":
        lines += [f"{run} --without rule", f"{run} --players frugal,lavish --seed 2"]
    return steps(*lines)


def calibrating(kind: str) -> Callable[[Found], None]:
    """`mashq calibrate`."""
    run = f"calibrate runs/{kind}"
    lines = [f"{run} -o out/like.yaml --items 3", f"{run} --check --matches 3 --json"]
    if kind in ("match", "summaries", "refusals"):
        lines += [f"{run} --check --matches 3{form}" for form in ("", " --format md", " --format latex")]
        lines += [f"{run} -o out/many.yaml --more 7 --items 2"]

    def play(found: Found) -> None:
        own = Found()
        steps(*lines)(own)
        found.texts |= own.texts
        found.data |= {name: value for name, value in own.data.items() if not name.endswith(".items.jsonl")}

    return play


def validating(kind: str) -> Callable[[Found], None]:
    """`mashq validate`: a sheet, two people's ratings made from it, and the report on them."""

    def play(found: Found) -> None:
        if step(found, ["validate", "sample", f"runs/{kind}", "-n", "9", "--seed", "1", "-o", "out/sheet"]).code:
            return
        rows = list(csv.DictReader(io.StringIO(Path("out/sheet/sheet.csv").read_text("utf-8-sig"))))
        for person, given in (("anna", (1, 0, 0.5, 1)), ("ben", (1, 0.5, 0.5, 0, 1))):
            lines = [f"{row['id']},{given[at % len(given)]}" for at, row in enumerate(rows)]
            Path(f"out/{person}.csv").write_text("\n".join(["id,rating", *lines]) + "\n")
        report = ["validate", "report", "out/sheet/key.json", "out/anna.csv", "out/ben.csv", "--resamples", "500"]
        for more in ([], ["--json"], ["--format", "md"], ["--format", "latex"], ["--positive", "0.9", "--json"]):
            step(found, [*report, *more], fresh=False)
        step(found, [*report, "--plot", "out/plot.html"], fresh=False)

    return play


def rescoring(kind: str) -> Callable[[Found], None]:
    """`mashq rescore` and a report that scores again."""
    run = f"rescore runs/{kind} --detector " + ("exact-match" if kind == "questions" else "grounding")
    return steps(
        run, f"{run} --format md", f"{run} --format latex", f"{run} --json", f"rescore runs/{kind} --detector nothing"
    )


def comparing(*kinds: str) -> Callable[[Found], None]:
    """`mashq compare`, and the same runs in one report."""
    run = "compare " + " ".join(f"runs/{kind}" for kind in kinds)
    page = "report " + " ".join(f"runs/{kind}" for kind in kinds) + " -o out/report.html"
    forms = steps(run, f"{run} --json", f"{run} --format md", f"{run} --format latex")

    def compared(found: Found) -> None:
        own = Found()
        steps(page)(own)
        found.texts |= own.texts
        for name, value in own.data.items():
            ends = [at for at, one in enumerate(value) if str(one).startswith(("p class=kicker", "p class=banner"))]
            found.data[name] = value[: min(ends, default=len(value))]

    return both(forms, steps(run, columns=140), compared)


def resuming(kind: str) -> Callable[[Found], None]:
    """`mashq resume` in a copy, and how the run then shows."""

    def play(found: Found) -> None:
        shutil.rmtree(OUT, ignore_errors=True)
        stage.copied(kind, OUT / kind)
        for line in (
            f"resume out/{kind}",
            f"resume out/{kind} --json",
            f"show out/{kind} --json",
            f"verify out/{kind}",
        ):
            step(found, line.split(" "), fresh=False)
        step(found, ["score", f"out/{kind}", "--resamples", "500"], fresh=False)

    return play


def playing(verb: str, config: str, *more: str) -> Callable[[Found], None]:
    """A simulated match played anew, as text and as a document; then how it shows."""

    def play(found: Found) -> None:
        line = [verb, f"{config}.yaml", "--out", "out/fresh", *more]
        step(found, line)
        step(found, ["show", "out/fresh"], 140, fresh=False)
        step(found, [*line, "--json"])
        step(found, ["verify", "out/fresh"], fresh=False)

    return play


def site(found: Found) -> None:
    """`mashq site` over all runs: its index whole, and of each report what it is called."""
    own = Found()
    for kind in ("match", "refusals", "questions", "tournament", "stopped", "metered", "names", "alone", "trials"):
        shutil.rmtree(Path("some") / kind, ignore_errors=True)
        stage.copied(kind, Path("some") / kind)
    step(own, ["site", "some", "-o", "out/site"])
    found.texts |= own.texts
    for name, value in own.data.items():
        index = name.endswith(("index.html", "site.json"))
        found.data[name] = (
            value if index else [one for one in value if str(one).startswith(("title", "h1", "p class=k"))]
        )


def detecting(found: Found) -> None:
    """`mashq detect`."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    texts = {row["id"]: row["text"] for row in map(json.loads, Path("items.jsonl").read_text().splitlines())}
    answers = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    pairs = [{"source": texts[a["item"]], "answer": a["text"], "reference": a["text"]} for a in answers[::3]]
    pairs.append({"source": "How many?", "answer": "about 8 of them", "reference": "8"})
    Path("pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    for name in ("grounding", "exact-match", "simpleqa"):
        step(found, ["detect", "pairs.jsonl", "--detector", name, "--no-cache"])


def importing(found: Found) -> None:
    """`mashq import`, and what `mashq score` and `mashq power` make of files from elsewhere."""
    logs = sorted(path.as_posix() for path in Path("runs/imported/logs").glob("*.eval"))
    for end in ("csv", "jsonl", "parquet"):
        step(found, ["import", *logs, "-o", f"out/results.{end}"])
    step(found, ["import", *logs, "--player", "{model} {task} {solver}", "--usage", "all", "-o", "out/all.csv"])
    step(found, ["import", *logs, "--scorer", "H", "-o", "out/h.csv"])
    step(found, ["import", *logs, "--scorer", "nothing", "-o", "out/h.csv"])
    names = ["--map", "player=system", "--map", "item=question", "--map", "h=score"]
    step(found, ["import", "runs/imported/theirs.csv", *names, "-o", "out/rows.jsonl"])
    step(found, ["import", "runs/imported/theirs.csv", "-o", "out/rows.jsonl"])
    for file in ("rows", "logs"):
        score = ["score", f"runs/imported/{file}.csv", "--resamples", "500"]
        for more in ([], ["--json"], ["--resources", "tokens", "--json"], ["--format", "latex"], ["--format", "md"]):
            step(found, [*score, *more])
        step(found, ["power", f"runs/imported/{file}.csv", "--resources", "tokens"])
    theirs = ["score", "runs/imported/theirs.csv", "--resamples", "500", *names]
    step(found, theirs)
    for condition in ("q(alpha) < q(beta)", "q(beta) < q(alpha)", "p_win(alpha) < 0.999999", "h(gamma) > 2"):
        step(found, [*theirs, "--fail-if", condition])


def failing(found: Found) -> None:
    """Input that is wrong: a sentence and an exit code."""
    for line in (
        *("show runs/nothing", "show runs/imported", "score runs/nothing", "score runs/match --without nobody"),
        *(
            "score runs/match --resources token",
            "score runs/match --weights calls=-1",
            "score runs/match --fail-if q",
        ),
        *("score runs/match --normalise reference:nothing.json", "score runs/match --fail-if q(careful)<q(nobody)"),
        *(
            "compare runs/match runs/questions",
            "compare runs/match runs/metered",
            "power runs/match --players careful",
        ),
        *(
            "power runs/match --players careful,nobody",
            "power runs/alone",
            "calibrate runs/match",
            "run nothing.yaml",
        ),
        *("calibrate runs/match -o out/x.yaml --without nobody", "export runs/match --format inspect"),
        *("run match.yaml --set rules.TT=1 --out out/x", "run match.yaml --set rules.T=2 --out out/x"),
        *(
            "sweep two.yaml --over rules.T --out out/x",
            "tournament alone.yaml --out out/x",
            "game alone.yaml --out out/x",
        ),
        *("game match.yaml --policies frugl --out out/x", "game two.yaml --vision sometimes --out out/x"),
        *("vision alone.yaml --out out/x", "tournament league.yaml --system swiss --seats 3 --out out/x"),
        *(
            "run match.yaml --out runs/match",
            "resume runs/nothing",
            "verify runs/nothing",
            "site configs -o out/site",
        ),
        *(
            "report runs/nothing -o out/x.html",
            "report runs/metered -o out/x.html",
            "rescore runs/metered --detector grounding",
        ),
        *(
            "validate sample runs/before -o out/sheet",
            "resume runs/metered",
            "score runs/metered",
            "view runs/nothing",
        ),
        *(
            "plan nothing.yaml",
            "gateway --config match.yaml --out out/x -- true",
            "gateway --config match.yaml --player nobody --out out/x",
        ),
    ):
        step(found, line.split(" "))


def damaged(found: Found) -> None:
    """`mashq verify` of a run in which single numbers were changed."""
    import sqlite3

    for name, change in {
        "h": "UPDATE results SET h = h + 0.25 WHERE h < 0.7",
        "tokens": "UPDATE attempts SET tokens_in = tokens_in + 1 WHERE id = (SELECT max(id) FROM attempts)",
        "item": "UPDATE items SET text = text || '!' WHERE position = 1",
        "move": "UPDATE events SET move = replace(move, 'ok', 'refused') WHERE seq = (SELECT min(seq) FROM events)",
    }.items():
        shutil.rmtree(OUT, ignore_errors=True)
        stage.copied("summaries", OUT / name)
        connection = sqlite3.connect(OUT / name / "run.db")
        with connection:
            connection.execute(change)
        connection.close()
        step(found, ["verify", f"out/{name}"], fresh=False)
        step(found, ["verify", f"out/{name}", "--json"], fresh=False)
        step(found, ["show", f"out/{name}"], fresh=False)


# The dashboard.


class Asked:
    """Requests to one dashboard, each put down under its address."""

    def __init__(self, found: Found, root: Path) -> None:
        self.found, self.root, self.dashboard = found, root, Dashboard(root)

    def __call__(self, name: str, **values: object) -> Any:
        """One question to the API; the document it was answered with."""
        query = urlencode({key: str(value) for key, value in values.items()})
        aged(self.root)
        reply = self.dashboard.get(f"/api/{name}", query)
        shown = f"/api/{name}" + (f"?{query}" if query else "")
        body = reply.body.decode()
        document: Any = json.loads(body) if "json" in reply.kind else body
        self.found.data[shown] = document if reply.status == 200 else {"status": reply.status, "said": document}
        return document

    def quietly(self, name: str, **values: object) -> Any:
        """One question that is not pinned."""
        kept = dict(self.found.data)
        document = self(name, **values)
        self.found.data = kept
        return document


def aged(root: Path) -> None:
    """What was written to lately counts as being played: make it look old."""
    for path in root.rglob("run.db-wal"):
        os.utime(path, (stage.LONG_AGO, stage.LONG_AGO))


def viewing(kind: str) -> Callable[[Found], None]:
    """Everything the dashboard says of one run."""

    def play(found: Found) -> None:
        ask = Asked(found, Path("runs"))
        ask.quietly("summary", run=kind)
        ask("summary", run=kind)
        pages = ask("matches", run=kind)
        if kind == "metered":
            ask("match", run=kind)
            return
        begun = [one["id"] for one in pages["matches"]]
        for match in begun[:1] if kind in SEASONS else []:
            ask("match", run=kind, match=match)
            ask("frame", run=kind, match=match, log=1)
        _match(ask, kind, begun[-1] if kind in SEASONS else "")

    return play


def _match(ask: Asked, kind: str, match: str) -> None:
    where: dict[str, Any] = {"run": kind} | ({"match": match} if match else {})
    about = ask("match", **where)
    last = ask("frame", **where, log=200 if kind in SMALL else 4)
    if kind in ("many", "fixed", "tie", "names", "guided", "three"):
        return
    total = int(last["total"]) if "total" in last else 0
    every = range(total + 1) if kind == "match" else sorted({0, 2 * total // 3})
    for at in every:
        ask("frame", **where, at=at, log=1)
    ask("frame", **where, at=total // 2, starts="1,0", log=3)
    for metric in ("q", "h", "p", "tokens", "calls", "reviews", "seconds", "dollars"):
        if kind in SMALL or metric in ("q", "seconds"):
            ask("chart", **where, metric=metric, points=60 if kind in SMALL else 12)
    ask("round", **where, round=2)
    ask("story", **where)
    ask("verdict", **where)
    items = int(about["items"]) if "items" in about else 0
    for position in range(items) if kind in SMALL else [items - 1]:
        document = ask("item", **where, item=position)
        if kind in ("summaries", "refusals", "faults") and "players" in document:
            _texts(ask, where, document)
    ask("text", **where, what="source", number=0)


def _texts(ask: Asked, where: dict[str, Any], document: dict[str, Any]) -> None:
    for player in document["players"]:
        for version in player["versions"]:
            ask("spans", **where, seq=version["seq"])
        for version in player["versions"][-1:]:
            ask("text", **where, what="answer", number=version["seq"])
        for attempt in player["attempts"][:1]:
            ask("text", **where, what="reply", number=attempt["id"])
            ask("prompt", run=where["run"], digest=attempt["prompt"])


def listing(found: Found) -> None:
    """The list of runs with its filters, and requests that cannot be answered."""
    ask = Asked(found, Path("runs"))
    for kind in UNFINISHED:
        ask.quietly("summary", run=kind)
    ask("runs")
    for query in (
        {"text": "careful"},
        {"text": "season sweep"},
        {"state": "finished"},
        {"state": "stopped"},
        {"start": 30},
    ):
        ask("runs", **query)
    for query in ({"state": "playing"}, {"simulated": "yes"}, {"simulated": "no"}, {"detector": "grounding 3"}):
        ask("runs", **query)
    for name in ("summary", "match", "frame", "item", "compare", "differences", "prompt", "text"):
        ask(name)
        ask(name, run="nothing", a="nothing", b="match", player="careful", digest="x", what="source")
    ask("frame", run="match", match="nothing")
    ask("frame", run="match", at="x")
    ask("chart", run="match", metric="nothing")
    ask("item", run="match", item=999)
    ask("text", run="match", what="nothing")
    ask("prompt", run="match", digest="nothing")
    ask("nothing")


def side_by_side(found: Found) -> None:
    """Two runs compared in the dashboard."""
    ask = Asked(found, Path("runs"))
    ask.quietly("summary", run="stopped")
    pairs = (("match", "match-again"), ("summaries", "refusals"), ("many", "many-again"), ("trials", "sweep"))
    for a, b in (*pairs, ("tournament", "joined"), ("match", "stopped"), ("match", "metered")):
        ask("compare", a=a, b=b)
        for player in ("careful", "p07", "frugal", "a", "quick"):
            ask("differences", a=a, b=b, player=player)


def live(found: Found) -> None:
    """The stream of a match, and a run that somebody is playing: its lock is held."""
    root = OUT / "live"
    shutil.rmtree(OUT, ignore_errors=True)
    for kind in ("stopped", "match"):
        stage.copied(kind, root / kind)
    ask = Asked(found, root)
    for kind in ("stopped", "match"):
        ask.quietly("summary", run=kind)
    with (root / "stopped" / "lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for kind in ("stopped", "match"):
            ask("match", run=kind)
            ask("frame", run=kind, log=0)
        ask("runs")
        ask("runs", state="playing")
    ask("runs", state="stopped")
    for kind in ("stopped", "match"):
        aged(root)
        reply = ask.dashboard.get("/api/live", f"run={kind}", until=b"event: frame")
        data = [line[6:] for line in reply.body.decode().splitlines() if line.startswith("data: ")]
        found.data[f"/api/live?run={kind}"] = [json.loads(line) for line in data[:1]]
    found.data["one run alone"] = Asked(Found(), root / "match")("runs")


def cases() -> list[Case]:
    """Every case."""
    found = [Case(f"show/{kind}", showing(kind)) for kind in KINDS]
    own = [kind for kind in KINDS if kind not in ("many-again", "match-again", "troubles")]
    found += [Case(f"score/{kind}", scoring(kind)) for kind in (*own, "troubles")]
    found += [Case(f"report/{kind}", reporting(kind)) for kind in own if kind not in ("guided", "fixed", "swiss")]
    found += [
        Case(f"export/{kind}", exporting(kind)) for kind in own if kind not in ("swiss", "threes", "game-policies")
    ]
    found += [Case(f"verify/{kind}", steps(f"verify runs/{kind}", f"verify runs/{kind} --json")) for kind in KINDS]
    found += [Case(f"view/{kind}", viewing(kind)) for kind in own]
    found += [Case("view/list", listing), Case("view/compared", side_by_side), Case("view/live", live)]
    found += planning()
    found += [Case(f"power/{kind}", powering(kind)) for kind in POWERED]
    found += [Case(f"calibrate/{kind}", calibrating(kind)) for kind in CALIBRATED]
    found += [Case(f"validate/{kind}", validating(kind)) for kind in ("summaries", "questions", "match", "trials")]
    found += [Case(f"rescore/{kind}", rescoring(kind)) for kind in RESCORED]
    found += [Case(f"resume/{kind}", resuming(kind)) for kind in RESUMED]
    found += [Case("compare/" + "+".join(kinds), comparing(*kinds)) for kinds in COMPARED]
    found += [Case(f"play/{name}", playing(*line)) for name, line in PLAYED.items()]
    paper = steps("paper", "paper --format md", "paper --format latex", "paper --json")
    desk = steps(
        *("paper show best_of_n", "paper show all --format md", "paper show ablation_1 --json"),
        *("paper show main_results_supp --format latex", "paper config simpleqa_results"),
        *("paper plan --model local/small.gguf", "paper plan --model local/small.gguf --json"),
    )
    found += [Case("paper-desk", desk)]
    found += [Case("paper", paper), Case("site", site), Case("detect", detecting), Case("import", importing)]
    pictures = steps("report runs/tie -o page.html --figures out/figures")
    again = steps("report runs/questions -o out/report.html --detector exact-match")
    found += [Case("report/figures", pictures), Case("report/detector", again)]
    return [*found, Case("failing", failing), Case("verify/damaged", damaged)]


POWERED = ("match", "refusals", "questions", "three", "tie", "stopped", "trials", "sweep", "budget", "many")
CALIBRATED = (
    "match",
    "summaries",
    "refusals",
    "questions",
    "agents",
    "best-of-n",
    "external",
    "faults",
    "trials",
    "stopped",
)
RESCORED = ("summaries", "refusals", "faults", "questions", "match", "referee", "cut-off", "trials")
RESUMED = ("stopped", "stopped-trials", "stopped-league", "match", "trials", "tournament", "summaries")
COMPARED = (
    ("match", "match-again"),
    ("summaries", "troubles", "refusals"),
    ("many", "many-again"),
    ("trials", "sweep"),
    ("match", "stopped"),
    ("match", "summaries"),
    ("three", "fixed", "game"),
    ("tournament", "joined"),
)
PLAYED: dict[str, tuple[str, ...]] = {
    "match": ("run", "long", "--set", "task.limit=6"),
    "agents": ("run", "agents"),
    "budget": ("run", "budget"),
    "best-of-n": ("run", "best-of-n"),
    "trials": ("run", "two", "--trials", "3"),
    "sweep": ("sweep", "two", "--over", "rules.T=0.7,0.9", "--over", "players.0.order=forward,reverse"),
    "tournament": ("tournament", "league"),
    "threes": ("tournament", "league", "--seats", "3"),
    "swiss": ("tournament", "league", "--system", "swiss", "--rounds", "2"),
    "game": (
        "game",
        "match",
        "--policies",
        "frugal,bayes,lavish",
        "--set",
        "task.limit=5",
        "--vision",
        "never,always",
    ),
    "vision": ("vision", "long", "--when", "always", "--set", "task.limit=5"),
}
CASES = cases()
