"""Mishaps around real processes: full disks, torn files, two at once, read-only folders, DNS, TLS, the clock.

`trial(seed, folder)` is one mishap, chosen by the seed. A command ends with 0, or with 2 and one sentence; never
with a traceback. A run that can be resumed ends as the uninterrupted match ends.
"""

import json
import os
import random
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mashq
from mashq.testing import FakeProvider
from tests.arena.helpers import rows, write_items
from tests.torture import invariants
from tests.torture.invariants import Violation
from tests.torture.kills import KEY, MASHQ, killed, served, settings
from tests.torture.tunnel import Tunnel, certificate

ROOT = Path(__file__).parents[2]
SMALL = (
    'mount -t tmpfs -o size="$1"k none "$2" && shift && there="$1" && shift && "$@"; code=$?; cp -r "$there" "$OUT"'
)
READONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'


@dataclass
class Scene:
    """A match that was played whole, with its provider, to be played again under a mishap."""

    rng: random.Random
    folder: Path
    provider: FakeProvider
    config: dict[str, Any]

    @property
    def run(self) -> Path:
        """The run that the mishap happens to."""
        return self.folder / "run"

    @property
    def whole(self) -> Path:
        """The run that nothing happened to."""
        return self.folder / "whole"

    @property
    def begin(self) -> list[str]:
        """The arguments that begin the run."""
        return ["run", str(self.folder / "match.yaml"), "--out", str(self.run), "--json"]

    def stopped(self) -> int:
        """Begin the run and kill it in the middle; return how many requests had arrived before it."""
        before = len(self.provider.hits())
        while not (self.run / "manifest.json").exists():
            killed(self.begin, self.provider, before + self.rng.randint(2, max(3, before - 3)), 0.0)
        return before

    def holds(self, before: int, *, killed: bool, lost: int = 0) -> None:
        """Check everything that must hold of the ended run."""
        hits = len(self.provider.hits()) - before
        invariants.law(self.run, hits, killed=killed, lost=lost)
        invariants.sums(self.run)
        invariants.once(self.run)
        invariants.no_key(self.run, KEY)
        invariants.same(self.run, self.whole)


def command(arguments: Sequence[str], *, before: Sequence[str] = MASHQ, **options: Any) -> int:
    """Run mashq to its end: 0, or 2 and a sentence (or 1 from verify); anything else is a violation."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    environment |= options.pop("env", {})
    line = [*before, *arguments]
    result = subprocess.run(
        line, capture_output=True, text=True, timeout=300, check=False, env=environment, **options
    )
    sentence = result.stderr.strip().splitlines()[-1:]
    if "Traceback" in result.stderr or result.returncode not in ((0, 1, 2) if "verify" in arguments else (0, 2)):
        raise Violation(f"{' '.join(arguments[:1])} ended with {result.returncode}: {result.stderr[-600:]}")
    if result.returncode == 2 and not (sentence and sentence[0].startswith("mashq: ") and len(sentence[0]) > 30):
        raise Violation(f"{' '.join(arguments[:1])} ended with 2 and said {sentence}")
    return result.returncode


def disk_full(scene: Scene) -> Counter[str]:
    """The disk fills up in the middle of a match; with room again, the match is resumed."""
    before, size = len(scene.provider.hits()), sum(path.stat().st_size for path in scene.whole.iterdir())
    if namespaces() and scene.rng.random() < 0.5:
        (scene.folder / "small").mkdir()
        room, run = scene.rng.randint(100, max(120, size // 512)), scene.folder / "small" / "run"
        begin = ["run", str(scene.folder / "match.yaml"), "--out", str(run), "--json"]
        shell = ["unshare", "-m", "sh", "-c", SMALL + "; exit $code", "sh", str(room), str(scene.folder / "small")]
        code = command([*MASHQ, *begin], before=shell, env={"OUT": str(scene.folder / "kept")})
        shutil.move(scene.folder / "kept" / "run", scene.run)
    else:
        limit = scene.rng.randint(40_000, max(50_000, 2 * size))
        code = command(scene.begin, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    if not (scene.run / "manifest.json").exists():
        return Counter({"disk full at the start": 1})
    written = invariants.written(scene.run)
    if command(["resume", str(scene.run), "--json"]):
        raise Violation("with room again, the run cannot be gone on with")
    invariants.kept(written, scene.run)
    scene.holds(before, killed=True)
    return Counter({"disk full" if code else "disk not full": 1})


def torn(scene: Scene) -> Counter[str]:
    """A file of a run, stopped or ended, loses its end."""
    if scene.rng.random() < 0.7:
        before = scene.stopped()
    else:
        shutil.copytree(scene.whole, scene.run)
        before = 0
    opened = rows(scene.run, "SELECT count(*) FROM attempts")[0][0]
    path = scene.run / scene.rng.choice(("run.db", "run.db-wal", "run.db-wal", "manifest.json"))
    size = path.stat().st_size if path.exists() else 0
    if size:
        os.truncate(path, scene.rng.randrange(size))
    for subcommand in ("show", "verify"):
        command([subcommand, str(scene.run), "--json"])
    if command(["resume", str(scene.run), "--json"]):
        return Counter({"torn refused": 1})
    scene.holds(before, killed=True, lost=opened)
    return Counter({"torn resumed": 1})


def two(scene: Scene) -> Counter[str]:
    """While one process plays, another is refused and sends nothing; `show` works."""
    before = len(scene.provider.hits())
    with subprocess.Popen([*MASHQ, *scene.begin], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        while first.poll() is None and not (scene.run / "manifest.json").exists():
            time.sleep(0.005)
        codes = [command(["resume", str(scene.run)])]
        playing = first.poll() is None
        codes.append(command(scene.begin))
        show_code = command(["show", str(scene.run), "--json"])
    if first.returncode or show_code or (playing and 0 in codes):
        raise Violation(f"the first ended with {first.returncode}, the others with {codes} and {show_code}")
    scene.holds(before, killed=False)
    return Counter({"second refused": codes == [2, 2]})


def race(scene: Scene) -> Counter[str]:
    """Two processes begin or resume the same run at the same moment: one of them succeeds."""
    if scene.rng.random() < 0.5:
        before, arguments = len(scene.provider.hits()), scene.begin
    else:
        before, arguments = scene.stopped(), ["resume", str(scene.run), "--json"]
    processes = [
        subprocess.Popen([*MASHQ, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in "ab"
    ]
    errors = [process.communicate(timeout=300)[1].decode() for process in processes]
    codes = sorted(process.returncode for process in processes)
    if codes not in ([0, 0], [0, 2]) or any("Traceback" in text for text in errors):
        raise Violation(f"two at once ended with {codes}: {errors}")
    scene.holds(before, killed=arguments[0] == "resume")
    return Counter({"races": 1})


def read_only(scene: Scene) -> Counter[str]:
    """In a read-only folder a run is neither begun nor resumed, but can be shown."""
    before = scene.stopped()
    (scene.folder / "sealed").mkdir()
    sealed = scene.folder / "sealed" / "run"
    shutil.move(scene.run, sealed)
    kept = {path.name: path.read_bytes() for path in sealed.iterdir()}
    guard = readonly(sealed.parent)
    if guard is None:
        return Counter({"skipped: read-only": 1})
    begin = [scene.begin[0], scene.begin[1], "--out", str(sealed.parent / "new")]
    refused = [command([*MASHQ, *arguments], before=guard) for arguments in (begin, ["resume", str(sealed)])]
    shown = command([*MASHQ, "show", str(sealed), "--json"], before=guard)
    sealed.parent.chmod(0o755)
    if refused != [2, 2] or {path.name: path.read_bytes() for path in sealed.iterdir()} != kept:
        raise Violation(f"in a read-only folder, run and resume ended with {refused}")
    shutil.move(sealed, scene.run)
    command(["resume", str(scene.run), "--json"])
    scene.holds(before, killed=True)
    return Counter({"read-only": 1, "read-only shown": shown == 0})


def no_name(scene: Scene) -> Counter[str]:
    """An unknown host name is refused before anything is paid; a temporary failure is retried."""
    nowhere = scene.folder / "nowhere.yaml"
    nowhere.write_text((scene.folder / "match.yaml").read_text().replace("127.0.0.1", "nowhere.invalid"))
    if (
        command(["run", str(nowhere), "--out", str(scene.folder / "nowhere")]) != 2
        or (scene.folder / "nowhere").exists()
    ):
        raise Violation("a match on a server without a name was begun")
    before, real, lookups = len(scene.provider.hits()), socket.getaddrinfo, [0]
    failing = range(2, 2 + scene.rng.randint(1, 8))  # the first two check whether the servers can be reached

    def resolve(host: Any, *rest: Any, **named: Any) -> Any:
        if host != "model.invalid":
            return real(host, *rest, **named)
        lookups[0] += 1
        if lookups[0] - 1 in failing:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return real("127.0.0.1", *rest, **named)

    with patch.object(socket, "getaddrinfo", resolve):
        mashq.play(json.loads(json.dumps(scene.config).replace("127.0.0.1", "model.invalid")), scene.run)
    scene.holds(before, killed=False)
    unreachable = rows(scene.run, "SELECT count(*) FROM attempts WHERE outcome = 'unreachable'")[0][0]
    if not unreachable:
        raise Violation("the name was lost and nobody noticed")
    return Counter({"fault dns": unreachable})


def no_trust(scene: Scene) -> Counter[str]:
    """An untrusted certificate is refused before anything is paid; a broken tunnel is retried."""
    files = certificate(scene.folder)
    if files is None:
        return Counter({"skipped: no openssl": 1})
    before = len(scene.provider.hits())
    with Tunnel(scene.provider.port, *files, scene.rng.randrange(2**32), calm=3) as tunnel:
        text = json.dumps(scene.config).replace(scene.provider.base_url, f"https://127.0.0.1:{tunnel.port}/v1")
        (scene.folder / "match.yaml").write_text(text)
        if command(scene.begin) != 2 or scene.run.exists():
            raise Violation("a match on a server nobody trusts was begun")
        tunnel.rest(2)
        if command(scene.begin, env={"SSL_CERT_FILE": str(files[0])}):
            raise Violation("a match over TLS was refused")
    scene.holds(before, killed=False)
    return tunnel.met


def clock_set(scene: Scene) -> Counter[str]:
    """The wall clock is set, back and forth, while the run plays, is killed and resumed."""
    before = len(scene.provider.hits())
    skewed = (sys.executable, "-m", "tests.torture.skewed", str(scene.rng.randrange(10**6)))
    moment = before + scene.rng.randint(2, max(3, before - 3))
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))):
        killed(scene.begin, scene.provider, moment, 0.0, skewed)
    code = command(["resume", str(scene.run), "--json"] if scene.run.exists() else scene.begin, before=skewed)
    if code:
        raise Violation("with a clock that was set back, the run cannot be gone on with")
    scene.holds(before, killed=True)
    return Counter({"clock set": 1})


Mishap = Callable[[Scene], Counter[str]]
MISHAPS: tuple[Mishap, ...] = (
    disk_full,
    torn,
    two,
    race,
    read_only,
    no_name,
    no_trust,
    clock_set,
)


def trial(seed: int, folder: Path) -> Counter[str]:
    """Run one mishap; return its counts. Raises Violation if an invariant does not hold."""
    folder.mkdir(parents=True)
    mishap, rng = MISHAPS[seed % len(MISHAPS)], random.Random(seed)
    latency, items = (0.4, 5) if mishap is two else (0.01, rng.randint(2, 5))  # others must start while it plays
    try:
        with patch.dict(os.environ, TORTURE_KEY=KEY), served(seed, latency) as provider:
            config = settings(provider.base_url, write_items(folder / "items.jsonl", items), "passing")
            for model in config["models"].values():
                model["timeout"] = 60.0  # nothing here takes long by itself
            (folder / "match.yaml").write_text(json.dumps(config))
            mashq.play(config, folder / "whole")
            return mishap(Scene(rng, folder, provider, config)) + Counter({mishap.__name__: 1})
    except Violation as violation:
        raise Violation(f"seed {seed} ({mishap.__name__}): {violation}") from violation
    except Exception as error:
        raise Violation(f"seed {seed} ({mishap.__name__}): {type(error).__name__}: {error}") from error


def namespaces() -> bool:
    """Whether this process may mount in its own namespace."""
    if os.geteuid() or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def readonly(folder: Path) -> list[str] | None:
    """Return a command prefix that makes `folder` read-only; None if that is not possible."""
    if os.geteuid():
        folder.chmod(0o555)
        return []
    return ["unshare", "-m", "sh", "-c", READONLY, "sh", str(folder)] if namespaces() else None
