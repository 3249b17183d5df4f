"""The reader on a GPU, through torch: pairs one after the other in packs, 16 bits where that changes next to nothing.

Contract: `Gpu.measures` gives the three measures of each (source, answer) in token ids. A pack is PACK tokens long
whatever is in it, and a token's row is computed the same way wherever it lies: equal pairs get equal measures in any
company.
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
PACK = 65536  # tokens: on an H200 half of it is a twentieth slower, twice as much no quicker
FILL = 512  # tokens of the empty texts that fill a pack up
AHEAD = 8  # packs that are sent to the device at a time


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
        """Of each pair, in the order given. The longest are read first; packs are made while others are read."""
        order = sorted(range(len(pairs)), key=lambda at: -len(pairs[at][0]) - len(pairs[at][1]))
        found: list[Measures] = []
        packs = list(self._packed([pairs[at] for at in order]))
        with self._torch.inference_mode():
            begun: list[tuple[Sequence[Sequence[Ids]], Any]] = []
            for at in range(0, len(packs), AHEAD):
                some = packs[at : at + AHEAD]
                begun.append((some, self._read(some)))
                if len(begun) > 1:
                    found += self._told(*begun.pop(0))
            for one in begun:
                found += self._told(*one)
        back = dict(zip(order, found, strict=True))
        return [back[at] for at in range(len(pairs))]

    def _told(self, packs: Sequence[Sequence[Ids]], out: Any) -> list[Measures]:
        lengths = [len(answer) for pack in packs for _, answer in pack]
        return self._adapter.told(out.cpu().numpy(), [0, *accumulate(lengths)][:-1])

    def _packed(self, pairs: Sequence[Ids]) -> Iterator[list[Ids]]:
        """The pairs in the order given, as many in a pack as fit."""
        some, size = list[Ids](), 0
        for source, answer in pairs:
            n = len(source) + len(answer)
            if some and size + n > self._pack:
                yield some
                some, size = [], 0
            some.append((source, answer))
            size += n
        if some:
            yield some

    def _read(self, packs: Sequence[Sequence[Ids]]) -> Any:
        """The head's three numbers for every token of the answers, pack by pack."""
        torch = self._torch
        rows = max([self._pack, *(sum(len(s) + len(a) for s, a in pack) for pack in packs)])
        tokens, places = np.zeros((2, len(packs), rows), dtype=np.int32)
        answers = np.zeros((len(packs), rows), dtype=bool)
        texts = list[Any]()
        for number, pack in enumerate(packs):
            lengths, at = list[int](), 0
            for source, answer in pack:
                middle, end = at + len(source), at + len(source) + len(answer)
                tokens[number, at:middle], tokens[number, middle:end] = source, answer
                answers[number, middle:end] = True
                lengths.append(end - at)
                at = end
            lengths += [min(FILL, rows - filled) for filled in range(at, rows, FILL)]
            places[number] = np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])
            texts.append(self._steps.texts([0, *accumulate(lengths)], self._sent))
        told, held, kept = map(self._sent, (tokens, places, np.flatnonzero(answers)))
        every = torch.arange(int(places.max()) + 1, device=self._device)
        turns = tuple(part[0, 0].contiguous() for part in torch_model.turns(torch, self._shape, every[None]))
        out = [self._states(told[n], held[n], turns, texts[n]) @ self._head for n in range(len(packs))]
        return torch.cat(out)[kept]

    def _sent(self, array: Any) -> Any:
        """On its way to the device, without waiting for what the device has still to do."""
        tensor = self._torch.from_numpy(array)
        return tensor if self._device == "cpu" else tensor.pin_memory().to(self._device, non_blocking=True)

    def _states(self, tokens: Any, places: Any, turns: Any, texts: Any) -> Any:
        """The last vectors of a pack, before the last norm's weight."""
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
