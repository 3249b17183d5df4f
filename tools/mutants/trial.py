"""Whether a fault is caught: runs the tests that reach it, fastest first, until one fails, and fails again alone."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.mutants.faults import Fault
from tools.mutants.tree import Tree

FIRST = 30  # tests that are run before all others are collected
SLACK = 10.0  # a test that takes this many times its usual time hangs
LEAST = 30.0  # seconds; shorter tests never count as hanging
START = 120.0  # seconds allowed for collecting the tests


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it was caught, by which test (or `import`), and a note."""

    caught: bool
    by: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """A tree, the duration of each test, and the seconds allowed per fault."""

    tree: Tree
    seconds: Mapping[str, float]
    limit: float

    def verdict(self, fault: Fault, tests: Sequence[str], before: str = "") -> Verdict:
        """Return the verdict on a fault; the test that caught it before runs first."""
        if not tests:
            return Verdict(False, note="no test reaches it")
        order = sorted(tests, key=lambda test: test != before)
        first = 1 if before in tests else FIRST
        started = time.monotonic()
        for stage in (order[:first], order[first:]):
            result = self._stage(fault, stage, self.limit - (time.monotonic() - started))
            if result is not None:
                return result
        return Verdict(False, note=f"{len(tests)} test(s) pass")

    def _stage(self, fault: Fault, tests: Sequence[str], remaining: float) -> Verdict | None:
        """Run some of the tests; return None if all pass."""
        note = ""
        while tests:
            with self.tree.planted(fault):
                event, test = self._run(tests, remaining)
                again = self._run([test], remaining)[0] if event in ("failed", "hung") else ""
            match event:
                case "passed":
                    return None
                case "out of time":
                    return Verdict(False, note=f"stopped after {self.limit:.0f} s, before all tests had run")
                case "broken":
                    self._check(tests)
                    return Verdict(True, by="import")
                case _ if again != "passed":
                    return Verdict(True, by=test, note="hung" if event == "hung" else note)
                case _:
                    note = f"{test} failed once and then passed"
                    tests = [other for other in tests if other != test]
        return None

    def _check(self, tests: Sequence[str]) -> None:
        """Raise RuntimeError if the tests cannot be collected even without the fault."""
        event, _ = self._run(tests, 0.0)
        if event not in ("passed", "out of time"):
            raise RuntimeError(f"The tests fail without any fault ({event}):\n{self.tree.told()}")

    def _run(self, tests: Sequence[str], remaining: float) -> tuple[str, str]:
        """Return the first event, and its test."""
        events = self.tree.folder / "events.jsonl"
        events.unlink(missing_ok=True)
        order = [(test, max(LEAST, SLACK * self.seconds[test])) for test in tests]
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        plan = {"order": order, "seconds": remaining, "events": str(events), "root": str(self.tree.root)}
        timeout = max(remaining, 0.0) + max(limit for _, limit in order) + START
        status = self.tree.pytest("tools.mutants.stopping", plan, ["-x", *files], timeout)
        if self.tree.stopped:
            raise RuntimeError("Stopped.")
        rows = [json.loads(line) for line in events.read_text("utf-8").splitlines()] if events.is_file() else []
        for row in rows:
            if row["event"] != "collected":
                return row["event"], row["test"]
        if status == 0:
            return "passed", ""
        return "broken", ""
