"""Is a fault caught? The tests that reach it, the quickest first, until one fails, and fails again by itself."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.mutants.faults import Fault
from tools.mutants.tree import Tree

FIRST = 30  # tests that are tried before all others are collected
SLACK = 10.0  # a test that takes so many times its time hangs
LEAST = 30.0  # seconds, below which nothing hangs
START = 120.0  # seconds in which the tests have to be collected


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it was caught, by which test (or `import`), and what there is to add."""

    caught: bool
    by: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """A tree, what tests take, and the seconds a fault may take."""

    tree: Tree
    seconds: Mapping[str, float]
    limit: float

    def verdict(self, fault: Fault, tests: Sequence[str], before: str = "") -> Verdict:
        """What becomes of a fault; the test that caught it before is asked first."""
        if not tests:
            return Verdict(False, note="no test reaches it")
        order = sorted(tests, key=lambda test: test != before)
        first = 1 if before in tests else FIRST
        began = time.monotonic()
        for stage in (order[:first], order[first:]):
            found = self._stage(fault, stage, self.limit - (time.monotonic() - began))
            if found is not None:
                return found
        return Verdict(False, note=f"{len(tests)} test(s) pass")

    def _stage(self, fault: Fault, tests: Sequence[str], left: float) -> Verdict | None:
        """None where all of them pass."""
        told = ""
        while tests:
            with self.tree.planted(fault):
                event, test = self._run(tests, left)
                again = self._run([test], left)[0] if event in ("failed", "hung") else ""
            match event:
                case "passed":
                    return None
                case "out of time":
                    return Verdict(False, note=f"stopped after {self.limit:.0f} s, before all tests had run")
                case "broken":
                    self._check(tests)
                    return Verdict(True, by="import")
                case _ if again != "passed":
                    return Verdict(True, by=test, note="hung" if event == "hung" else told)
                case _:
                    told = f"{test} failed once and then passed"
                    tests = [one for one in tests if one != test]
        return None

    def _check(self, tests: Sequence[str]) -> None:
        """That the tests can be collected at all: raises RuntimeError where it is not the fault that broke them."""
        event, _ = self._run(tests, 0.0)
        if event not in ("passed", "out of time"):
            raise RuntimeError(f"The tests fail without any fault ({event}):\n{self.tree.told()}")

    def _run(self, tests: Sequence[str], left: float) -> tuple[str, str]:
        """What happened first, and to which test."""
        events = self.tree.folder / "events.jsonl"
        events.unlink(missing_ok=True)
        order = [(test, max(LEAST, SLACK * self.seconds[test])) for test in tests]
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        plan = {"order": order, "seconds": left, "events": str(events), "root": str(self.tree.root)}
        most = max(left, 0.0) + max(limit for _, limit in order) + START
        status = self.tree.pytest("tools.mutants.stopping", plan, ["-x", *files], most)
        if self.tree.stopped:
            raise RuntimeError("Stopped.")
        rows = [json.loads(line) for line in events.read_text("utf-8").splitlines()] if events.is_file() else []
        for row in rows:
            if row["event"] != "collected":
                return row["event"], row["test"]
        if status == 0:
            return "passed", ""
        return "broken", ""
