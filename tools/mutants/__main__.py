"""Plant faults, one at a time in a private copy, and see which of them the tests catch.

Exits with 1 where too few are caught, and with 2 where it could not be found out. What was found is kept, for the
sources and tests as they are: started again, it goes on where it stopped. Only Python gets faults, no page's script.
"""

import argparse
import json
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from tools.environments import ROOT
from tools.mutants.faults import Fault
from tools.mutants.sample import DRAWN, FLOORS, equivalents, folder_of, samples, unknown
from tools.mutants.touch import Touch, recorded
from tools.mutants.tree import TESTED, Tree, digest
from tools.mutants.trial import Trial, Verdict

LIST = Path("tools", "mutants", "equivalents.toml")
CACHE = Path(".venv", "mutants")
Key = tuple[str, str, str, str, int]


class Results:
    """What was found before: a line a fault, in a file that only grows."""

    def __init__(self, path: Path, sources: str, tests: str) -> None:
        self.path, self.state = path, {"sources": sources, "tests": tests}
        self.lock = threading.Lock()
        self.known: dict[Key, Verdict] = {}
        self.before: dict[Key, str] = {}  # the test that caught it last, in any state
        for line in path.read_text("utf-8").splitlines() if path.is_file() else []:
            row = json.loads(line)
            key: Key = tuple(row["key"])
            if row["caught"]:
                self.before[key] = row["by"]
            if {name: row[name] for name in self.state} == self.state:
                self.known[key] = Verdict(row["caught"], row["by"], row["note"])

    def add(self, fault: Fault, verdict: Verdict) -> None:
        """Keep one more."""
        row = {"key": fault.key, "line": fault.line, **asdict(verdict), **self.state}
        with self.lock:
            self.known[fault.key] = verdict
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


@dataclass(frozen=True, slots=True)
class Share:
    """A line of the table."""

    folder: str
    planted: int
    equivalent: int
    caught: int
    floor: float

    @property
    def share(self) -> float | None:
        """Of those that could be caught; None where there are none."""
        asked = self.planted - self.equivalent
        return self.caught / asked if asked else None

    @property
    def enough(self) -> bool:
        """Whether the floor is reached."""
        return self.share is None or self.share >= self.floor


def shares(drawn: Sequence[Fault], equal: set[Key], known: dict[Key, Verdict]) -> list[Share]:
    """By folder; a fault that is in the list counts as equivalent, whatever became of it."""
    planted = Counter(folder_of(fault) for fault in drawn)
    listed = Counter(folder_of(fault) for fault in drawn if fault.key in equal)
    caught = Counter(folder_of(fault) for fault in drawn if fault.key not in equal and known[fault.key].caught)
    return [Share(name, planted[name], listed[name], caught[name], FLOORS[name]) for name in FLOORS if planted[name]]


def table(rows: Sequence[Share]) -> str:
    """As it is printed."""
    lines = [f"{'folder':10}{'planted':>9}{'equivalent':>12}{'caught':>8}{'share':>9}{'floor':>8}"]
    for row in rows:
        share = "-" if row.share is None else f"{row.share:.1%}"
        counts = f"{row.folder:10}{row.planted:9}{row.equivalent:12}{row.caught:8}"
        lines.append(f"{counts}{share:>9}{row.floor:>8.0%}{'' if row.enough else '  too few'}")
    return "\n".join(lines)


def entry(fault: Fault) -> str:
    """As it would stand in the list of equivalents, for whoever can give the reason."""
    named = {"file": fault.file, "function": fault.function, "original": fault.original, "mutated": fault.mutated}
    lines = [f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in named.items()]
    nth = [f"nth = {fault.nth}"] if fault.nth > 1 else []
    return "\n".join([f"# line {fault.line}", "[[equivalent]]", *lines, *nth, 'reason = ""'])


def plant(root: Path, asked: Sequence[Fault], touch: Touch, results: Results, options: argparse.Namespace) -> None:
    """Try the faults, several at a time, and tell of each."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as top, ThreadPoolExecutor(options.jobs) as pool:
        free: SimpleQueue[Trial] = SimpleQueue()
        trees = [Tree.copied(root, Path(top) / str(number)) for number in range(min(options.jobs, len(asked)))]
        for tree in trees:
            free.put(Trial(tree, touch.seconds, options.limit))

        def tried(fault: Fault) -> tuple[Fault, Verdict, float]:
            trial, began = free.get(), time.monotonic()
            try:
                verdict = trial.verdict(fault, touch.tests(fault), results.before.get(fault.key, ""))
            finally:
                free.put(trial)
            results.add(fault, verdict)
            return fault, verdict, time.monotonic() - began

        futures = [pool.submit(tried, fault) for fault in asked]
        try:
            for number, future in enumerate(as_completed(futures), 1):
                fault, verdict, seconds = future.result()
                said = " ".join(filter(None, (verdict.by, verdict.note)))
                where = f"{fault.file}:{fault.line} {fault.original[:100]} -> {fault.mutated[:100]}"
                word = "caught" if verdict.caught else "SURVIVED"
                print(f"[{number}/{len(asked)}] {word} {seconds:.0f} s  {where}  ({said})", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for tree in trees:
                tree.stop()
            raise


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--count", type=int, default=300, help="faults in all (default 300)")
    parser.add_argument("--folder", action="append", choices=list(FLOORS), help="only there; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="faults tried at a time (default 2)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of tests for one fault (default 300)")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="only these may catch (default: all)")
    parser.add_argument("--cache", type=Path, default=None, help="where results are kept (default .venv/mutants)")
    parser.add_argument("--list-survivors", action="store_true", help="those found so far, as entries; runs nothing")
    parser.add_argument("--draw", action="store_true", help="print the faults that would be planted; runs nothing")
    parser.add_argument("--equivalents", action="store_true", help="plant the listed ones too: none may be caught")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """The exit status."""
    options = parsed(arguments)
    listed = equivalents(root / LIST)
    equal = {one.key for one in listed}
    drawn = samples(root, options.folder or list(FLOORS), options.count, options.seed)
    sources, tests = digest(root, "src"), digest(root, *TESTED) + "-" + "+".join(options.tests).replace("/", ".")
    cache: Path = options.cache or root / CACHE
    results = Results(cache / "results.jsonl", sources, tests)
    for one in unknown(listed, root):
        print(f"{LIST.name} names a fault that is no more: {one.file}, {one.function}: {one.mutated}")
    if options.draw:
        print("\n".join(f"{one.file}:{one.line} {one.function}: {one.original} -> {one.mutated}" for one in drawn))
        return 0
    asked = [fault for fault in drawn if fault.key not in equal or options.equivalents]
    if options.list_survivors:
        survived = [fault for fault in asked if (found := results.known.get(fault.key)) and not found.caught]
        print("\n\n".join(map(entry, survived)))
        return 0
    print(f"{len(drawn)} faults with seed {options.seed}: {DRAWN}.", flush=True)
    missing = [fault for fault in asked if fault.key not in results.known]
    if missing:
        touch = recorded(cache / f"touch-{sources}-{tests}.json", root, options.tests, options.jobs)
        print(f"{len(asked) - len(missing)} were tried before; {len(touch.seconds)} tests pass.", flush=True)
        plant(root, missing, touch, results, options)
    rows = shares(drawn, equal, results.known)
    print(table(rows))
    wrong = [fault for fault in asked if fault.key in equal and results.known[fault.key].caught]
    for fault in wrong:
        print(f"Listed as equivalent, but caught: {fault.file}:{fault.line} {fault.mutated}")
    return 0 if all(row.enough for row in rows) and not wrong else 1


def _ended(number: int, _: object) -> None:
    """A signal ends it in good order: what runs is ended, the copies are removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _ended)
    try:
        sys.exit(main(sys.argv[1:]))
    except (RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
