"""Finding and reading a model's files: a local folder, or a hub id at a pinned revision. No code is ever downloaded.

Contract: `Files.find` uses a folder as it is and anything else as a hub id. `tensors` reads safetensors (one file or
shards), or a PyTorch file as plain tensors. `Tokens` turns texts into ids with the folder's tokenizer.json, whole:
nothing is truncated or padded. An error names what is missing in one sentence.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mashq.detectors.extras import need
from mashq.errors import ConfigError, DetectorError

__all__ = ["Files", "Tokens"]

_ID = re.compile(r"[\w.-]+/[\w.-]+")
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")


@dataclass(frozen=True, slots=True)
class Files:
    """The location of a model's files: a folder, or a hub id and its revision."""

    who: str
    folder: Path | None
    hub: str = ""
    revision: str | None = None

    @classmethod
    def find(cls, who: str, where: str, revision: str | None = None) -> Files:
        """Return the folder at that path, or the hub's model with that id."""
        folder = Path(where).expanduser()
        if os.path.isdir(folder):
            return cls(who, folder)
        if not _ID.fullmatch(where) or where.startswith("."):
            raise ConfigError(f"{who}: there is no folder {where!r}; give one with model.safetensors, or a hub id.")
        return cls(who, None, where, revision)

    def path(self, *names: str) -> Path:
        """Return the path of the first of these files that exists."""
        if self.folder is not None:
            for name in names:
                if os.path.isfile(self.folder / name):
                    return self.folder / name
            raise ConfigError(f"{self.who}: the folder {self.folder} has no {' or '.join(names)}.")
        return self._fetch(names)

    def tensors(self) -> tuple[dict[str, Any], str]:
        """Return the weights by name, and the first digits of their SHA-256."""
        first = self.path(*_WEIGHTS)
        shards = [first]
        if first.suffix == ".json":
            names: dict[str, str] = json.loads(first.read_text(encoding="utf-8"))["weight_map"]
            shards = [self.path(name) for name in sorted(set(names.values()))]
        tensors: dict[str, Any] = {}
        for shard in shards:
            tensors.update(_read(shard, self.who))
        return tensors, _digest(shards)

    def _fetch(self, names: tuple[str, ...]) -> Path:
        hub = need("huggingface_hub", self.who)
        reason = ""
        for name in names:
            try:
                return Path(hub.hf_hub_download(self.hub, name, revision=self.revision))
            except Exception as error:  # noqa: BLE001 - the hub's client raises its own, its HTTP library's and OSError
                reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ConfigError(
            f"{self.who}: {names[0]} of {self.hub} is not stored here and could not be fetched ({reason[:200]}); "
            f"with the files in a folder, use '{self.who}:FOLDER'."
        )


class Tokens:
    """Tokenises texts into ids and character offsets."""

    def __init__(self, path: Path, who: str, rows: int) -> None:
        try:
            self._tokenizer = need("tokenizers", who).Tokenizer.from_file(str(path))
        except ConfigError:
            raise
        except Exception as error:  # the library raises bare Exception
            raise DetectorError(f"{who}: {path} is no tokenizer ({error}).") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        ends = [self._tokenizer.token_to_id(token) for token in ("<pad>", "</s>")]
        size = self._tokenizer.get_vocab_size()
        if ends != [0, 1] or size > rows:
            raise DetectorError(
                f"{who}: {path} is not the model's tokenizer (<pad> and </s> are {ends}, not [0, 1], "
                f"or its {size} tokens are more than the {rows} the model has)."
            )

    def ids(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the ids of each text, with the model's end token."""
        return [encoded.ids for encoded in self._tokenizer.encode_batch_fast([clean(text) for text in texts])]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return where each token of a clean text starts and ends."""
        return self._tokenizer.encode(text, add_special_tokens=False).offsets


def clean(text: str) -> str:
    """Replace what cannot be encoded as UTF-8 (half of a surrogate pair)."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _read(path: Path, who: str) -> dict[str, Any]:
    try:
        if path.suffix == ".safetensors":
            return need("safetensors.torch", who).load_file(str(path))
        return need("torch", who).load(path, map_location="cpu", weights_only=True)
    except ConfigError:
        raise
    except Exception as error:
        raise DetectorError(f"{who}: {path} cannot be read ({type(error).__name__}: {error}).") from error


def _digest(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]
