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
    """Earlier results: one line per fault, in an append-only file."""

    def __init__(self, path: Path, sources: str, tests: str) -> None:
        self.path, self.state = path, {"sources": sources, "tests": tests}
        self.lock = threading.Lock()
        self.known: dict[Key, Verdict] = {}
        self.before: dict[Key, str] = {}  # the test that caught it last, in any state of the sources
        for line in path.read_text("utf-8").splitlines() if path.is_file() else []:
            row = json.loads(line)
            key: Key = tuple(row["key"])
            if row["caught"]:
                self.before[key] = row["by"]
            if {name: row[name] for name in self.state} == self.state:
                self.known[key] = Verdict(row["caught"], row["by"], row["note"])

    def add(self, fault: Fault, verdict: Verdict) -> None:
        """Store one more result."""
        row = {"key": fault.key, "line": fault.line, **asdict(verdict), **self.state}
        with self.lock:
            self.known[fault.key] = verdict
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


@dataclass(frozen=True, slots=True)
class Share:
    """One row of the table."""

    folder: str
    planted: int
    equivalent: int
    caught: int
    floor: float

    @property
    def share(self) -> float | None:
        """The share caught of those that could be caught; None if there are none."""
        catchable = self.planted - self.equivalent
        return self.caught / catchable if catchable else None

    @property
    def enough(self) -> bool:
        """Whether the floor is reached."""
        return self.share is None or self.share >= self.floor


def shares(drawn: Sequence[Fault], equal: set[Key], known: dict[Key, Verdict]) -> list[Share]:
    """Return the shares by folder; a fault in the list counts as equivalent, whatever its result."""
    planted = Counter(folder_of(fault) for fault in drawn)
    listed = Counter(folder_of(fault) for fault in drawn if fault.key in equal)
    caught = Counter(folder_of(fault) for fault in drawn if fault.key not in equal and known[fault.key].caught)
    return [Share(name, planted[name], listed[name], caught[name], FLOORS[name]) for name in FLOORS if planted[name]]


def table(rows: Sequence[Share]) -> str:
    """Format the table that is printed."""
    lines = [f"{'folder':10}{'planted':>9}{'equivalent':>12}{'caught':>8}{'share':>9}{'floor':>8}"]
    for row in rows:
        share = "-" if row.share is None else f"{row.share:.1%}"
        counts = f"{row.folder:10}{row.planted:9}{row.equivalent:12}{row.caught:8}"
        lines.append(f"{counts}{share:>9}{row.floor:>8.0%}{'' if row.enough else '  too few'}")
    return "\n".join(lines)


def entry(fault: Fault) -> str:
    """Format a fault as an entry for the list of equivalents, with an empty reason."""
    fields = {"file": fault.file, "function": fault.function, "original": fault.original, "mutated": fault.mutated}
    lines = [f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in fields.items()]
    nth = [f"nth = {fault.nth}"] if fault.nth > 1 else []
    return "\n".join([f"# line {fault.line}", "[[equivalent]]", *lines, *nth, 'reason = ""'])


def plant(root: Path, planted: Sequence[Fault], touch: Touch, results: Results, options: argparse.Namespace) -> None:
    """Try the faults, several at a time, and print each result."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as top, ThreadPoolExecutor(options.jobs) as pool:
        free: SimpleQueue[Trial] = SimpleQueue()
        trees = [Tree.copied(root, Path(top) / str(number)) for number in range(min(options.jobs, len(planted)))]
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

        futures = [pool.submit(tried, fault) for fault in planted]
        try:
            for number, future in enumerate(as_completed(futures), 1):
                fault, verdict, seconds = future.result()
                details = " ".join(filter(None, (verdict.by, verdict.note)))
                location = f"{fault.file}:{fault.line} {fault.original[:100]} -> {fault.mutated[:100]}"
                outcome = "caught" if verdict.caught else "SURVIVED"
                print(f"[{number}/{len(planted)}] {outcome} {seconds:.0f} s  {location}  ({details})", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for tree in trees:
                tree.stop()
            raise


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
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
    """Run the command; return the exit status."""
    options = parsed(arguments)
    listed = equivalents(root / LIST)
    equal = {listing.key for listing in listed}
    drawn = samples(root, options.folder or list(FLOORS), options.count, options.seed)
    sources, tests = digest(root, "src"), digest(root, *TESTED) + "-" + "+".join(options.tests).replace("/", ".")
    cache: Path = options.cache or root / CACHE
    results = Results(cache / "results.jsonl", sources, tests)
    for listing in unknown(listed, root):
        print(f"{LIST.name} names a fault that is no more: {listing.file}, {listing.function}: {listing.mutated}")
    if options.draw:
        print(
            "\n".join(f"{each.file}:{each.line} {each.function}: {each.original} -> {each.mutated}" for each in drawn)
        )
        return 0
    selected = [fault for fault in drawn if fault.key not in equal or options.equivalents]
    if options.list_survivors:
        survived = [fault for fault in selected if (verdict := results.known.get(fault.key)) and not verdict.caught]
        print("\n\n".join(map(entry, survived)))
        return 0
    print(f"{len(drawn)} faults with seed {options.seed}: {DRAWN}.", flush=True)
    missing = [fault for fault in selected if fault.key not in results.known]
    if missing:
        touch = recorded(cache / f"touch-{sources}-{tests}.json", root, options.tests, options.jobs)
        print(f"{len(selected) - len(missing)} were tried before; {len(touch.seconds)} tests pass.", flush=True)
        plant(root, missing, touch, results, options)
    rows = shares(drawn, equal, results.known)
    print(table(rows))
    wrong = [fault for fault in selected if fault.key in equal and results.known[fault.key].caught]
    for fault in wrong:
        print(f"Listed as equivalent, but caught: {fault.file}:{fault.line} {fault.mutated}")
    return 0 if all(row.enough for row in rows) and not wrong else 1


def _on_signal(number: int, _: object) -> None:
    """Exit cleanly on a signal: running tests are stopped and the copies removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _on_signal)
    try:
        sys.exit(main(sys.argv[1:]))
    except (RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
