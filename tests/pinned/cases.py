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
class Output:
    """The output of a case's commands: texts go to a transcript, data to a JSON file."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    data: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Case:
    """One pinned case; its name is where its expected files are."""

    name: str
    play: Callable[[Output], None]


def steps(*lines: str, columns: int = COLUMNS) -> Callable[[Output], None]:
    """Return a case of commands, one after the other."""

    def play(output: Output) -> None:
        for line in lines:
            step(output, line.split(" "), columns)

    return play


def both(*parts: Callable[[Output], None]) -> Callable[[Output], None]:
    """Combine several parts into one case."""

    def play(output: Output) -> None:
        for part in parts:
            part(output)

    return play


def step(output: Output, arguments: Sequence[str], columns: int = COLUMNS, *, fresh: bool = True) -> Said:
    """Run one command; record what it printed and every file it wrote under out/."""
    if fresh:
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir()
    files_before = set(OUT.rglob("*"))
    raw_result = command(arguments, columns)
    result = Said(raw_result.code, neutral(raw_result.out), neutral(raw_result.err))
    name = "mashq " + " ".join(arguments) + ("" if columns == COLUMNS else f"  [{columns} columns]")
    transcript = [f"exit {result.code}"]
    if "--json" in arguments and result.out[:1] in ("{", "["):
        output.data[name] = json.loads(result.out)
    elif _is_csv(arguments) and result.code == 0:
        output.data[name] = rows_of(result.out)
    elif _is_otlp(arguments) and result.code == 0:
        output.data[name] = [otlp(json.loads(line)) for line in result.out.splitlines()]
    elif _is_jsonl(arguments) and result.code == 0:
        output.data[name] = [json.loads(line) for line in result.out.splitlines()]
    elif result.out:
        transcript.append(result.out.rstrip("\n"))
    transcript += ["! " + line for line in result.err.rstrip("\n").split("\n") if line]
    output.texts[name] = "\n".join(transcript)
    for path in sorted(set(OUT.rglob("*")) - files_before):
        if path.is_file() and "run.db" not in path.name and path.name not in ("lock", "manifest.json"):
            read(output, f"{name} → {path.as_posix()}", path)
    return result


def neutral(text: str) -> str:
    """Replace the one thing in a text that differs from run to run: the current directory."""
    return text.replace(str(Path.cwd()), "/place")


def rows_of(text: str) -> dict[str, Any]:
    """Return CSV by cells; those with a fraction are numbers, as the last digit may depend on the order of sums."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    ends = "CR LF" if "\r\n" in text else "LF"
    return {
        "lines end with": ends,
        "columns": rows[:1],
        "rows": [[_cell(cell) for cell in row] for row in rows[1:]],
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


def read(output: Output, name: str, path: Path) -> None:
    """Record the content of a file that a command wrote."""
    suffix = path.suffix
    text = "" if suffix in (".parquet", ".eval") else neutral(path.read_bytes().decode("utf-8-sig"))
    if suffix == ".html":
        output.data[name] = page(text)
    elif suffix == ".json":
        output.data[name] = json.loads(text)
    elif suffix == ".jsonl":
        output.data[name] = [json.loads(line) for line in text.splitlines()]
    elif suffix == ".csv":
        output.data[name] = rows_of(text)
    elif suffix == ".parquet":
        output.data[name] = parquet(path)
    elif suffix == ".eval":
        with zipfile.ZipFile(path) as packed:
            output.data[name] = {member: json.loads(packed.read(member)) for member in sorted(packed.namelist())}
    elif suffix in (".svg", ".png", ".pdf"):
        svg = path.with_suffix(".svg")
        if path != svg and svg.read_bytes() == path.read_bytes():
            output.data[name] = f"as {svg.name}"
            return
        output.data[name] = spec(json.loads(text.removeprefix("<svg>").removesuffix("</svg>")))
    else:
        output.texts[name] = text


def parquet(path: Path) -> Any:
    """Return a Parquet file's columns with their types, and its rows."""
    table: Any = importlib.import_module("pyarrow.parquet").read_table(path)
    fields: list[Any] = list(table.schema)
    return {"schema": {str(column.name): str(column.type) for column in fields}, "rows": table.to_pylist()}


def otlp(document: dict[str, Any]) -> Any:
    """Return spans with their attributes by name, without the exporting package's version."""
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
        return {key: _attributes(entry) for key, entry in cast(Data, value).items()}
    return value


# The cases of each command.


def showing(kind: str) -> Callable[[Output], None]:
    """`mashq show`, narrow, wide and as a document."""
    return both(
        steps(f"show runs/{kind}"), steps(f"show runs/{kind}", columns=140), steps(f"show runs/{kind} --json")
    )


def scoring(kind: str) -> Callable[[Output], None]:
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


def reporting(kind: str) -> Callable[[Output], None]:
    """`mashq report` and its tables."""
    return steps(f"report runs/{kind} -o out/report.html --tables out/tables")


def exporting(kind: str) -> Callable[[Output], None]:
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


def powering(kind: str) -> Callable[[Output], None]:
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


def calibrating(kind: str) -> Callable[[Output], None]:
    """`mashq calibrate`."""
    run = f"calibrate runs/{kind}"
    lines = [f"{run} -o out/like.yaml --items 3", f"{run} --check --matches 3 --json"]
    if kind in ("match", "summaries", "refusals"):
        lines += [f"{run} --check --matches 3{form}" for form in ("", " --format md", " --format latex")]
        lines += [f"{run} -o out/many.yaml --more 7 --items 2"]

    def play(output: Output) -> None:
        own_output = Output()
        steps(*lines)(own_output)
        output.texts |= own_output.texts
        output.data |= {name: value for name, value in own_output.data.items() if not name.endswith(".items.jsonl")}

    return play


def validating(kind: str) -> Callable[[Output], None]:
    """`mashq validate`: a sheet, two people's ratings based on it, and the report on them."""

    def play(output: Output) -> None:
        if step(output, ["validate", "sample", f"runs/{kind}", "-n", "9", "--seed", "1", "-o", "out/sheet"]).code:
            return
        rows = list(csv.DictReader(io.StringIO(Path("out/sheet/sheet.csv").read_text("utf-8-sig"))))
        for person, given in (("anna", (1, 0, 0.5, 1)), ("ben", (1, 0.5, 0.5, 0, 1))):
            lines = [f"{row['id']},{given[at % len(given)]}" for at, row in enumerate(rows)]
            Path(f"out/{person}.csv").write_text("\n".join(["id,rating", *lines]) + "\n")
        report = ["validate", "report", "out/sheet/key.json", "out/anna.csv", "out/ben.csv", "--resamples", "500"]
        for more in ([], ["--json"], ["--format", "md"], ["--format", "latex"], ["--positive", "0.9", "--json"]):
            step(output, [*report, *more], fresh=False)
        step(output, [*report, "--plot", "out/plot.html"], fresh=False)

    return play


def rescoring(kind: str) -> Callable[[Output], None]:
    """`mashq rescore` with every output format."""
    run = f"rescore runs/{kind} --detector " + ("exact-match" if kind == "questions" else "grounding")
    return steps(
        run, f"{run} --format md", f"{run} --format latex", f"{run} --json", f"rescore runs/{kind} --detector nothing"
    )


def comparing(*kinds: str) -> Callable[[Output], None]:
    """`mashq compare`, and the same runs in one report."""
    run = "compare " + " ".join(f"runs/{kind}" for kind in kinds)
    page = "report " + " ".join(f"runs/{kind}" for kind in kinds) + " -o out/report.html"
    forms = steps(run, f"{run} --json", f"{run} --format md", f"{run} --format latex")

    def compared(output: Output) -> None:
        own_output = Output()
        steps(page)(own_output)
        output.texts |= own_output.texts
        for name, value in own_output.data.items():
            ends = [
                at for at, entry in enumerate(value) if str(entry).startswith(("p class=kicker", "p class=banner"))
            ]
            output.data[name] = value[: min(ends, default=len(value))]

    return both(forms, steps(run, columns=140), compared)


def resuming(kind: str) -> Callable[[Output], None]:
    """`mashq resume` in a copy, and the output for the run afterwards."""

    def play(output: Output) -> None:
        shutil.rmtree(OUT, ignore_errors=True)
        stage.copied(kind, OUT / kind)
        for line in (
            f"resume out/{kind}",
            f"resume out/{kind} --json",
            f"show out/{kind} --json",
            f"verify out/{kind}",
        ):
            step(output, line.split(" "), fresh=False)
        step(output, ["score", f"out/{kind}", "--resamples", "500"], fresh=False)

    return play


def playing(verb: str, config: str, *more: str) -> Callable[[Output], None]:
    """A simulated match played anew, as text and as a document; then the output for it."""

    def play(output: Output) -> None:
        line = [verb, f"{config}.yaml", "--out", "out/fresh", *more]
        step(output, line)
        step(output, ["show", "out/fresh"], 140, fresh=False)
        step(output, [*line, "--json"])
        step(output, ["verify", "out/fresh"], fresh=False)

    return play


def site(output: Output) -> None:
    """`mashq site` over some runs: its whole index, and the titles of each report."""
    own_output = Output()
    for kind in ("match", "refusals", "questions", "tournament", "stopped", "metered", "names", "alone", "trials"):
        shutil.rmtree(Path("some") / kind, ignore_errors=True)
        stage.copied(kind, Path("some") / kind)
    step(own_output, ["site", "some", "-o", "out/site"])
    output.texts |= own_output.texts
    for name, value in own_output.data.items():
        index = name.endswith(("index.html", "site.json"))
        output.data[name] = (
            value if index else [entry for entry in value if str(entry).startswith(("title", "h1", "p class=k"))]
        )


def detecting(output: Output) -> None:
    """`mashq detect`."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    texts = {row["id"]: row["text"] for row in map(json.loads, Path("items.jsonl").read_text().splitlines())}
    answers = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    pairs = [{"source": texts[a["item"]], "answer": a["text"], "reference": a["text"]} for a in answers[::3]]
    pairs.append({"source": "How many?", "answer": "about 8 of them", "reference": "8"})
    Path("pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    for name in ("grounding", "exact-match", "simpleqa"):
        step(output, ["detect", "pairs.jsonl", "--detector", name, "--no-cache"])


def importing(output: Output) -> None:
    """`mashq import`, and `mashq score` and `mashq power` on files from other tools."""
    logs = sorted(path.as_posix() for path in Path("runs/imported/logs").glob("*.eval"))
    for end in ("csv", "jsonl", "parquet"):
        step(output, ["import", *logs, "-o", f"out/results.{end}"])
    step(output, ["import", *logs, "--player", "{model} {task} {solver}", "--usage", "all", "-o", "out/all.csv"])
    step(output, ["import", *logs, "--scorer", "H", "-o", "out/h.csv"])
    step(output, ["import", *logs, "--scorer", "nothing", "-o", "out/h.csv"])
    names = ["--map", "player=system", "--map", "item=question", "--map", "h=score"]
    step(output, ["import", "runs/imported/theirs.csv", *names, "-o", "out/rows.jsonl"])
    step(output, ["import", "runs/imported/theirs.csv", "-o", "out/rows.jsonl"])
    for file in ("rows", "logs"):
        score = ["score", f"runs/imported/{file}.csv", "--resamples", "500"]
        for more in ([], ["--json"], ["--resources", "tokens", "--json"], ["--format", "latex"], ["--format", "md"]):
            step(output, [*score, *more])
        step(output, ["power", f"runs/imported/{file}.csv", "--resources", "tokens"])
    theirs = ["score", "runs/imported/theirs.csv", "--resamples", "500", *names]
    step(output, theirs)
    for condition in ("q(alpha) < q(beta)", "q(beta) < q(alpha)", "p_win(alpha) < 0.999999", "h(gamma) > 2"):
        step(output, [*theirs, "--fail-if", condition])


def failing(output: Output) -> None:
    """Invalid input: a sentence and an exit code."""
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
        step(output, line.split(" "))


def damaged(output: Output) -> None:
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
        step(output, ["verify", f"out/{name}"], fresh=False)
        step(output, ["verify", f"out/{name}", "--json"], fresh=False)
        step(output, ["show", f"out/{name}"], fresh=False)


# The dashboard.


class Api:
    """Requests to one dashboard, each recorded under its address."""

    def __init__(self, output: Output, root: Path) -> None:
        self.output, self.root, self.dashboard = output, root, Dashboard(root)

    def __call__(self, name: str, **values: object) -> Any:
        """Send one request to the API, record the reply, and return its document."""
        query = urlencode({key: str(value) for key, value in values.items()})
        aged(self.root)
        reply = self.dashboard.get(f"/api/{name}", query)
        address = f"/api/{name}" + (f"?{query}" if query else "")
        body = reply.body.decode()
        document: Any = json.loads(body) if "json" in reply.kind else body
        self.output.data[address] = document if reply.status == 200 else {"status": reply.status, "said": document}
        return document

    def quietly(self, name: str, **values: object) -> Any:
        """Send one request without recording it."""
        saved = dict(self.output.data)
        document = self(name, **values)
        self.output.data = saved
        return document


def aged(root: Path) -> None:
    """Make recently written files look old, as they would count as being played."""
    for path in root.rglob("run.db-wal"):
        os.utime(path, (stage.LONG_AGO, stage.LONG_AGO))


def viewing(kind: str) -> Callable[[Output], None]:
    """Everything the dashboard shows of one run."""

    def play(output: Output) -> None:
        ask = Api(output, Path("runs"))
        ask.quietly("summary", run=kind)
        ask("summary", run=kind)
        pages = ask("matches", run=kind)
        if kind == "metered":
            ask("match", run=kind)
            return
        match_ids = [match_["id"] for match_ in pages["matches"]]
        for match in match_ids[:1] if kind in SEASONS else []:
            ask("match", run=kind, match=match)
            ask("frame", run=kind, match=match, log=1)
        _match(ask, kind, match_ids[-1] if kind in SEASONS else "")

    return play


def _match(ask: Api, kind: str, match: str) -> None:
    where: dict[str, Any] = {"run": kind} | ({"match": match} if match else {})
    description = ask("match", **where)
    last = ask("frame", **where, log=200 if kind in SMALL else 4)
    if kind in ("many", "fixed", "tie", "names", "guided", "three"):
        return
    total = int(last["total"]) if "total" in last else 0
    positions = range(total + 1) if kind == "match" else sorted({0, 2 * total // 3})
    for at in positions:
        ask("frame", **where, at=at, log=1)
    ask("frame", **where, at=total // 2, starts="1,0", log=3)
    for metric in ("q", "h", "p", "tokens", "calls", "reviews", "seconds", "dollars"):
        if kind in SMALL or metric in ("q", "seconds"):
            ask("chart", **where, metric=metric, points=60 if kind in SMALL else 12)
    ask("round", **where, round=2)
    ask("story", **where)
    ask("verdict", **where)
    items = int(description["items"]) if "items" in description else 0
    for position in range(items) if kind in SMALL else [items - 1]:
        document = ask("item", **where, item=position)
        if kind in ("summaries", "refusals", "faults") and "players" in document:
            _texts(ask, where, document)
    ask("text", **where, what="source", number=0)


def _texts(ask: Api, where: dict[str, Any], document: dict[str, Any]) -> None:
    for player in document["players"]:
        for version in player["versions"]:
            ask("spans", **where, seq=version["seq"])
        for version in player["versions"][-1:]:
            ask("text", **where, what="answer", number=version["seq"])
        for attempt in player["attempts"][:1]:
            ask("text", **where, what="reply", number=attempt["id"])
            ask("prompt", run=where["run"], digest=attempt["prompt"])


def listing(output: Output) -> None:
    """The list of runs with its filters, and requests that cannot be answered."""
    ask = Api(output, Path("runs"))
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


def side_by_side(output: Output) -> None:
    """Two runs compared in the dashboard."""
    ask = Api(output, Path("runs"))
    ask.quietly("summary", run="stopped")
    pairs = (("match", "match-again"), ("summaries", "refusals"), ("many", "many-again"), ("trials", "sweep"))
    for a, b in (*pairs, ("tournament", "joined"), ("match", "stopped"), ("match", "metered")):
        ask("compare", a=a, b=b)
        for player in ("careful", "p07", "frugal", "a", "quick"):
            ask("differences", a=a, b=b, player=player)


def live(output: Output) -> None:
    """The stream of a match, and a run that is being played: its lock is held."""
    root = OUT / "live"
    shutil.rmtree(OUT, ignore_errors=True)
    for kind in ("stopped", "match"):
        stage.copied(kind, root / kind)
    ask = Api(output, root)
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
        output.data[f"/api/live?run={kind}"] = [json.loads(line) for line in data[:1]]
    output.data["one run alone"] = Api(Output(), root / "match")("runs")


def cases() -> list[Case]:
    """Return every case."""
    cases = [Case(f"show/{kind}", showing(kind)) for kind in KINDS]
    kinds = [kind for kind in KINDS if kind not in ("many-again", "match-again", "troubles")]
    cases += [Case(f"score/{kind}", scoring(kind)) for kind in (*kinds, "troubles")]
    cases += [Case(f"report/{kind}", reporting(kind)) for kind in kinds if kind not in ("guided", "fixed", "swiss")]
    cases += [
        Case(f"export/{kind}", exporting(kind)) for kind in kinds if kind not in ("swiss", "threes", "game-policies")
    ]
    cases += [Case(f"verify/{kind}", steps(f"verify runs/{kind}", f"verify runs/{kind} --json")) for kind in KINDS]
    cases += [Case(f"view/{kind}", viewing(kind)) for kind in kinds]
    cases += [Case("view/list", listing), Case("view/compared", side_by_side), Case("view/live", live)]
    cases += planning()
    cases += [Case(f"power/{kind}", powering(kind)) for kind in POWERED]
    cases += [Case(f"calibrate/{kind}", calibrating(kind)) for kind in CALIBRATED]
    cases += [Case(f"validate/{kind}", validating(kind)) for kind in ("summaries", "questions", "match", "trials")]
    cases += [Case(f"rescore/{kind}", rescoring(kind)) for kind in RESCORED]
    cases += [Case(f"resume/{kind}", resuming(kind)) for kind in RESUMED]
    cases += [Case("compare/" + "+".join(group), comparing(*group)) for group in COMPARED]
    cases += [Case(f"play/{name}", playing(*line)) for name, line in PLAYED.items()]
    paper = steps("paper", "paper --format md", "paper --format latex", "paper --json")
    desk = steps(
        *("paper show best_of_n", "paper show all --format md", "paper show ablation_1 --json"),
        *("paper show main_results_supp --format latex", "paper config simpleqa_results"),
        *("paper plan --model local/small.gguf", "paper plan --model local/small.gguf --json"),
    )
    cases += [Case("paper-desk", desk)]
    cases += [Case("paper", paper), Case("site", site), Case("detect", detecting), Case("import", importing)]
    pictures = steps("report runs/tie -o page.html --figures out/figures")
    again = steps("report runs/questions -o out/report.html --detector exact-match")
    cases += [Case("report/figures", pictures), Case("report/detector", again)]
    return [*cases, Case("failing", failing), Case("verify/damaged", damaged)]


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
