"""The reader on a GPU, through torch: pairs concatenated into packs, in 16 bits where that barely changes results.

Contract: `Gpu.measures` gives the three measures of each (source, answer) in token ids. A pack is PACK tokens long
whatever it contains, and a token's row is computed the same way wherever it is: equal pairs get equal measures in any
batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

import numpy as np

from mashq.detectors.reader import torch_model
from mashq.detectors.reader.adapter import Adapter, Measures
from mashq.detectors.reader.gguf import Gguf
from mashq.detectors.reader.model import Shape

__all__ = ["Gpu", "Ids"]

Ids = tuple[Sequence[int], Sequence[int]]
"""A source and an answer on it, as token ids."""
PACK = 65536  # tokens: on an H200 half of it is 5% slower, twice as much no faster
FILL = 512  # tokens of the empty texts that pad a pack
AHEAD = 8  # packs sent to the device at a time


class Gpu:
    """One model on one device."""

    def __init__(self, torch: Any, file: Gguf, adapter: Adapter, device: str, kind: str, pack: int = PACK) -> None:
        self._torch, self._device, self._adapter, self._pack = torch, device, adapter, pack
        self._shape = Shape.of(file)
        self._kind: Any = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[kind]
        fused = device.startswith("cuda") and kind != "fp32" and find_spec("triton")
        self._steps: Any = import_module(f"mashq.detectors.reader.packed_{'fused' if fused else 'plain'}")

        def change(name: str, matrix: Any) -> Any:
            if name not in adapter.parts:
                return matrix
            down, up = (torch.from_numpy(part).to(device) for part in adapter.parts[name])
            return matrix + up @ down

        self._layers = torch_model.layers(torch, file, self._shape, device, self._kind, change)
        self._embedding = torch.from_numpy(file.tensor("token_embd.weight")).to(device)
        norm = torch.from_numpy(file.tensor("output_norm.weight").copy()).to(device)
        self._head = (torch.from_numpy(adapter.head).to(device) * norm).T

    def measures(self, pairs: Sequence[Ids]) -> list[Measures]:
        """Return the measures of each pair, in the order given; the longest are read first."""
        order = sorted(range(len(pairs)), key=lambda at: -len(pairs[at][0]) - len(pairs[at][1]))
        measures: list[Measures] = []
        packs = list(self._packed([pairs[at] for at in order]))
        with self._torch.inference_mode():
            started: list[tuple[Sequence[Sequence[Ids]], Any]] = []
            for at in range(0, len(packs), AHEAD):
                batch = packs[at : at + AHEAD]
                started.append((batch, self._read(batch)))
                if len(started) > 1:
                    measures += self._collect(*started.pop(0))
            for entry in started:
                measures += self._collect(*entry)
        by_index = dict(zip(order, measures, strict=True))
        return [by_index[at] for at in range(len(pairs))]

    def _collect(self, packs: Sequence[Sequence[Ids]], out: Any) -> list[Measures]:
        lengths = [len(answer) for pack in packs for _, answer in pack]
        return self._adapter.measures_at(out.cpu().numpy(), [0, *accumulate(lengths)][:-1])

    def _packed(self, pairs: Sequence[Ids]) -> Iterator[list[Ids]]:
        """Yield packs of the pairs in the order given, as many per pack as fit."""
        pack, size = list[Ids](), 0
        for source, answer in pairs:
            n = len(source) + len(answer)
            if pack and size + n > self._pack:
                yield pack
                pack, size = [], 0
            pack.append((source, answer))
            size += n
        if pack:
            yield pack

    def _read(self, packs: Sequence[Sequence[Ids]]) -> Any:
        """Return the head's three numbers for every token of the answers, pack by pack."""
        torch = self._torch
        rows = max([self._pack, *(sum(len(s) + len(a) for s, a in pack) for pack in packs)])
        tokens, places = np.zeros((2, len(packs), rows), dtype=np.int32)
        answers = np.zeros((len(packs), rows), dtype=bool)
        texts = list[Any]()
        for number, pack in enumerate(packs):
            lengths, start = list[int](), 0
            for source, answer in pack:
                middle, end = start + len(source), start + len(source) + len(answer)
                tokens[number, start:middle], tokens[number, middle:end] = source, answer
                answers[number, middle:end] = True
                lengths.append(end - start)
                start = end
            lengths += [min(FILL, rows - filled) for filled in range(start, rows, FILL)]
            places[number] = np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])
            texts.append(self._steps.texts([0, *accumulate(lengths)], self._sent))
        token_rows, place_rows, answer_rows = map(self._sent, (tokens, places, np.flatnonzero(answers)))
        positions = torch.arange(int(places.max()) + 1, device=self._device)
        turns = tuple(part[0, 0].contiguous() for part in torch_model.turns(torch, self._shape, positions[None]))
        out = [self._states(token_rows[n], place_rows[n], turns, texts[n]) @ self._head for n in range(len(packs))]
        return torch.cat(out)[answer_rows]

    def _sent(self, array: Any) -> Any:
        """Copy to the device without waiting for its pending work."""
        tensor = self._torch.from_numpy(array)
        return tensor if self._device == "cpu" else tensor.pin_memory().to(self._device, non_blocking=True)

    def _states(self, tokens: Any, places: Any, turns: Any, texts: Any) -> Any:
        """Return the last vectors of a pack, before the last norm's weight."""
        linear, steps, shape = self._torch.nn.functional.linear, self._steps, self._shape
        state = self._embedding[tokens]
        rows = steps.add_norm(state, None, self._kind, shape.epsilon)
        for number, layer in enumerate(self._layers):
            qkv = linear(rows, layer.qkv)
            steps.turned(qkv, places, turns, shape)
            change = linear(steps.attend(qkv, texts, shape), layer.out)
            rows = steps.add_norm(state, change, self._kind, shape.epsilon)
            change = linear(steps.gated(linear(rows, layer.gate_up)), layer.down)
            kind = self._kind if number + 1 < len(self._layers) else self._torch.float32
            rows = steps.add_norm(state, change, kind, shape.epsilon)
        return rows
