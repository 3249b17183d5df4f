"""The reader on a GPU, through torch: pairs in batches, bf16 where that changes next to nothing.

Contract: `Gpu.measures` gives the three measures of each (source, answer) in token ids. A pair's row is as long
as the pair needs, up to the next multiple of STEP, and as many rows as the budget holds are computed whatever
their number: the shape of every product follows from the pair alone, so that equal pairs get equal measures in
any batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mashq.detectors.reader import torch_model
from mashq.detectors.reader.adapter import Adapter, Measures
from mashq.detectors.reader.gguf import Gguf
from mashq.detectors.reader.model import Shape

__all__ = ["Gpu", "Ids"]

Ids = tuple[Sequence[int], Sequence[int]]
"""A source and an answer on it, as token ids."""
STEP, BUDGET = 64, 65536


class Gpu:
    """One model on one device."""

    def __init__(self, torch: Any, file: Gguf, adapter: Adapter, device: str, kind: str) -> None:
        self._torch, self._device = torch, device
        self._shape = Shape.of(file)
        number: Any = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[kind]

        def change(name: str, matrix: Any) -> Any:
            if name not in adapter.parts:
                return matrix
            down, up = (torch.from_numpy(part).to(device) for part in adapter.parts[name])
            return matrix + up @ down

        self._layers = torch_model.layers(torch, file, self._shape, device, number, change)
        self._embedding = torch.from_numpy(file.tensor("token_embd.weight")).to(device)
        norm = torch.from_numpy(file.tensor("output_norm.weight").copy()).to(device)
        self._head = torch.from_numpy(adapter.head).to(device) * norm
        self._shift = adapter.shift

    def measures(self, pairs: Sequence[Ids]) -> list[Measures]:
        """Of each pair, in the order given; the device is read once, at the end."""
        groups: dict[int, list[int]] = {}
        for i, (source, answer) in enumerate(pairs):
            groups.setdefault(-(-(len(source) + len(answer)) // STEP) * STEP, []).append(i)
        begun: list[tuple[list[int], Any]] = []
        with self._torch.inference_mode():
            for size, numbers in sorted(groups.items()):
                rows = max(1, BUDGET // size)
                for at in range(0, len(numbers), rows):
                    some = numbers[at : at + rows]
                    begun.append((some, self._batch([pairs[i] for i in some], rows, size)))
            found = {i: row for some, out in begun for i, row in zip(some, out.tolist())}
        return [Measures(*found[i]) for i in range(len(pairs))]

    def _batch(self, pairs: Sequence[Ids], rows: int, size: int) -> Any:
        torch = self._torch
        tokens = np.zeros((rows, size), dtype=np.int64)
        ends = np.ones((rows, 2), dtype=np.int64)  # of the source and of the answer
        ends[:, 0] = 0
        for k, (source, answer) in enumerate(pairs):
            n = len(source) + len(answer)
            tokens[k, : len(source)], tokens[k, len(source) : n] = source, answer
            ends[k] = len(source), n
        told, places = torch.from_numpy(tokens).to(self._device), torch.from_numpy(ends).to(self._device)
        every = torch.arange(size, device=self._device)
        at = torch_model.turns(torch, self._shape, every[None])
        states = torch_model.run(
            torch, self._shape, self._layers, self._embedding[told], at, torch_model.causal(torch)
        )
        out = states @ self._head.T
        held = (every >= places[:, :1]) & (every < places[:, 1:])
        weights = out[..., 0].masked_fill(~held, -math.inf).softmax(1)
        doubts = out[..., 2] + self._shift
        mean = (doubts.sigmoid() * held).sum(1) / held.sum(1)
        greatest = doubts.masked_fill(~held, -math.inf).max(1).values
        return torch.stack([(weights * out[..., 1]).sum(1), greatest, mean], 1)
