"""Train the reader's adapter on one GPU: `python bench/reader/train.py --rows FILE --weights GGUF --leave LIST
--out DIR`.

FILE is what `prepare.py` wrote; LIST names what is left out, with everything that shares a document: human sets
and thirds of the articles ("frank,polytope,third0"; empty for the adapter that ships). The base stays as it is;
rank 16 on all seven projections of every layer and three numbers per token are learnt: attention and verdict,
whose weighted mean is the answer's score, and a doubt about each word.

A row of a batch is one source with many answers to it: they see the source and themselves, not each other. The
source is read once in training too. After every epoch the state is saved in DIR, and a run that was stopped resumes
from there. Writes DIR/adapter.npz (float16) and DIR/scores.npz: the measures of the left-out rows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from mashq.detectors.reader import torch_model
from mashq.detectors.reader.gguf import Gguf
from mashq.detectors.reader.model import PROJECTIONS, Shape

FLEX = os.environ.get("READER_FLEX") == "1"  # block-sparse attention, compiled; else a dense mask
flex: Any = torch.compile(flex_attention)
torch._dynamo.config.recompile_limit = 64
LONGEST_SOURCE, LONGEST_ANSWER = 1400, 400
ROW, MORE = 1536, 640  # tokens of a row, and the least of them for answers
RANK, SCALE = 16, 2.0
HUMAN = 6  # the first kinds are people's
COUNTS = {"hhem": 1.0, "edit-copy": 0.3, "edit-short": 0.5, "edit-model": 0.6, "edit-human": 1.0}


@dataclass(frozen=True)
class Row:
    """One source and some answers to it."""

    tokens: np.ndarray
    positions: np.ndarray
    parts: np.ndarray  # 0 the source, then 1, 2, ... its answers
    answers: list[tuple[int, int, int]]  # number, first token, end


class Data:
    """The prepared rows."""

    def __init__(self, path: Path) -> None:
        archive = np.load(path)
        self.__dict__.update({name: archive[name] for name in archive.files})
        self.names = [str(kind) for kind in archive["kinds"]]
        self.sets = archive["sets"]

    def source(self, doc: int) -> np.ndarray:
        tokens = self.doc_tokens[self.doc_ends[doc] : self.doc_ends[doc + 1]][:LONGEST_SOURCE]
        return np.concatenate([self.prefix, tokens, self.middle]).astype(np.int64)

    def answer(self, row: int, longest: int) -> np.ndarray:
        tokens = self.answer_tokens[self.answer_ends[row] : self.answer_ends[row + 1]][:longest]
        return np.concatenate([tokens, self.end]).astype(np.int64)

    def away(self, names: list[str]) -> np.ndarray:
        """Return a mask of the documents that are left out."""
        left_out = np.zeros(len(self.third), dtype=bool)
        for name in names:
            left_out |= (
                self.third == int(name[5:]) if name.startswith("third") else self.sets[:, self.names.index(name)]
            )
        return left_out

    def rows(self, which: np.ndarray, rng: np.random.Generator | None) -> list[Row]:
        """Return sources with their answers, twins adjacent; shuffled if a generator is given."""
        by_doc: dict[int, list[list[int]]] = {}
        chosen = set(which.tolist())
        twin = {int(self.partner[i]): i for i in chosen if self.partner[i] >= 0}
        for i in which.tolist():
            if self.partner[i] < 0 or int(self.partner[i]) not in chosen:
                by_doc.setdefault(int(self.doc[i]), []).append([i, twin[i]] if i in twin else [i])
        rows: list[Row] = []
        for doc, groups in by_doc.items():
            if rng is not None:
                groups = [groups[k] for k in rng.permutation(len(groups))]
            source = self.source(doc)
            limit = max(ROW, len(source) + MORE)
            numbers: list[int] = []
            size = len(source)
            for group in groups:
                added = sum(
                    min(int(self.answer_ends[i + 1] - self.answer_ends[i]), LONGEST_ANSWER) + len(self.end)
                    for i in group
                )
                if numbers and size + added > limit:
                    rows.append(self.row(source, numbers))
                    numbers, size = [], len(source)
                numbers += group
                size += added
            rows.append(self.row(source, numbers))
        return rows

    def row(self, source: np.ndarray, numbers: list[int]) -> Row:
        tokens, positions, parts = [source], [np.arange(len(source))], [np.zeros(len(source), dtype=np.int64)]
        answers: list[tuple[int, int, int]] = []
        start = len(source)
        for k, number in enumerate(numbers, 1):
            answer_tokens = self.answer(number, LONGEST_ANSWER)
            tokens.append(answer_tokens)
            positions.append(len(source) + np.arange(len(answer_tokens)))
            parts.append(np.full(len(answer_tokens), k))
            answers.append((number, start, start + len(answer_tokens)))
            start += len(answer_tokens)
        return Row(np.concatenate(tokens), np.concatenate(positions), np.concatenate(parts), answers)


def batches(rows: list[Row], budget: int, rng: np.random.Generator | None) -> list[list[Row]]:
    """Group rows of similar length into batches of at most `budget` tokens."""
    noise = rng.uniform(0.9, 1.1, len(rows)) if rng is not None else np.ones(len(rows))
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].tokens) * noise[i])
    groups: list[list[Row]] = [[]]
    longest = 0
    for i in order:
        size = (len(rows[i].tokens) + 127) // 128 * 128
        if groups[-1] and max(longest, size) * (len(groups[-1]) + 1) > budget:
            groups.append([])
            longest = 0
        groups[-1].append(rows[i])
        longest = max(longest, size)
    return [groups[k] for k in rng.permutation(len(groups))] if rng is not None else groups


def apart(parts: Any, heads: int) -> torch_model.Attend:
    """Return attention in which each token sees earlier tokens of the source and of its own answer."""
    rows, size = parts.shape
    if FLEX:
        block = create_block_mask(
            lambda b, _, q, k: (q >= k) & ((parts[b, k] == 0) | (parts[b, k] == parts[b, q])), rows, None, size, size
        )
        return lambda query, key, value: flex(query, key, value, block_mask=block, enable_gqa=True)
    same_part = parts[:, :, None] == parts[:, None, :]
    sees = (same_part | (parts == 0)[:, None, :]) & torch.ones(size, size, dtype=torch.bool, device="cuda").tril()
    mask = torch.zeros(sees.shape, dtype=torch.bfloat16, device="cuda").masked_fill_(~sees, -math.inf)[:, None]
    return torch_model.causal(torch, mask.expand(-1, heads, -1, -1))


class Net(torch.nn.Module):
    """The frozen base with an adapter and a head."""

    def __init__(self, path: Path, kinds: int) -> None:
        super().__init__()
        file = Gguf(path)
        self.shape = Shape.of(file)
        self.base = torch_model.raw(torch, file, self.shape, "cuda")
        self.embedding = torch.from_numpy(file.tensor("token_embd.weight")).cuda()
        self.norm = torch.from_numpy(file.tensor("output_norm.weight").copy()).cuda()
        self.down, self.up = torch.nn.ParameterDict(), torch.nn.ParameterDict()
        for n, own in enumerate(self.base):
            for name in PROJECTIONS:
                wide, narrow = own[name].shape
                self.down[f"{n}_{name}"] = torch.nn.Parameter(torch.randn(RANK, narrow, device="cuda") / narrow**0.5)
                self.up[f"{n}_{name}"] = torch.nn.Parameter(torch.zeros(wide, RANK, device="cuda"))
        self.head = torch.nn.Parameter(torch.zeros(3, self.shape.width, device="cuda"))
        self.bias = torch.nn.Parameter(torch.zeros(kinds + 1, device="cuda"))  # of each kind, and of the doubts

    def layers(self) -> list[torch_model.TorchLayer]:
        fused: list[torch_model.TorchLayer] = []
        for n, weights in enumerate(self.base):
            changed = dict(weights)
            for name in PROJECTIONS:
                changed[name] = weights[name] + SCALE * (self.up[f"{n}_{name}"] @ self.down[f"{n}_{name}"])
            fused.append(torch_model.fused(torch, changed, torch.bfloat16))
        return fused

    def forward(self, layers: list[torch_model.TorchLayer], batch: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return (score, doubts, mask of the doubts that belong to a token) of each answer."""
        x = self.embedding[batch["tokens"]]
        at = torch_model.turns(torch, self.shape, batch["positions"])
        parts = batch["parts"]
        states = torch_model.run(torch, self.shape, layers, x, at, apart(parts, self.shape.heads))
        out = (states * self.norm) @ self.head.T
        out = out.view(-1, 3)[batch["index"]]  # answers, tokens, 3
        held = batch["held"]
        attention = out[..., 0].masked_fill(~held, -math.inf).softmax(1)
        score = (attention * out[..., 1]).sum(1)
        return score, out[..., 2] + self.bias[-1], held


def on_gpu(data: Data, rows: list[Row]) -> dict[str, Any]:
    """Return a batch as tensors."""
    size = (max(len(row.tokens) for row in rows) + 127) // 128 * 128
    tokens = np.zeros((len(rows), size), dtype=np.int64)
    positions = np.zeros((len(rows), size), dtype=np.int64)
    parts = np.full((len(rows), size), 999, dtype=np.int64)
    answers: list[tuple[int, int, int]] = []
    for k, row in enumerate(rows):
        n = len(row.tokens)
        tokens[k, :n], positions[k, :n], parts[k, :n] = row.tokens, row.positions, row.parts
        answers += [(number, k * size + a, k * size + b) for number, a, b in row.answers]
    longest = max(b - a for _, a, b in answers)
    spread = np.arange(longest)
    first = np.array([a for _, a, _ in answers])[:, None]
    sizes = np.array([b - a for _, a, b in answers])[:, None]
    numbers = np.array([number for number, _, _ in answers])
    place = {number: k for k, number in enumerate(numbers.tolist())}
    odd = data.odd[numbers]
    arrays: dict[str, Any] = {
        "tokens": tokens, "positions": positions, "parts": parts,
        "index": np.where(spread < sizes, first + spread, 0), "held": spread < sizes,
        "label": data.label[numbers], "kind": data.kind[numbers].astype(np.int64),
        "weight": data.weight[numbers] if hasattr(data, "weight") else np.ones(len(numbers), dtype=np.float32),
        "twin": np.array([place.get(int(data.partner[n]), -1) for n in numbers]),
        "odd": (spread >= odd[:, :1]) & (spread < odd[:, 1:]), "told": (odd[:, 0] >= 0)[:, None] & (spread < sizes),
    }  # fmt: skip
    return {
        name: torch.from_numpy(np.ascontiguousarray(value)).cuda(non_blocking=True) for name, value in arrays.items()
    } | {"numbers": numbers}


def loss_of(net: Net, layers: list[torch_model.TorchLayer], batch: dict[str, Any]) -> Any:
    """Return the loss: verdicts, each kind with its own intercept; changed words; twins in the right order."""
    score, doubts, _ = net(layers, batch)
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    weight = batch["weight"]
    loss = (weight * bce(score + net.bias[batch["kind"]], batch["label"], reduction="none")).sum() / weight.sum()
    labelled, odd = batch["told"], batch["odd"].float()
    doubt_losses = bce(doubts, odd, reduction="none", pos_weight=torch.tensor(4.0, device="cuda"))
    if bool(labelled.any()):
        loss = loss + 2.0 * (doubt_losses * labelled).sum() / labelled.sum()
    twin = batch["twin"]
    if bool((twin >= 0).any()):
        bad = twin >= 0
        loss = loss + 0.3 * torch.nn.functional.softplus(score[bad] - score[twin[bad]]).mean()
    return loss


def balance(data: Data, which: np.ndarray) -> None:
    """Set the weights: people's labels by set, good and bad balanced; edits by COUNTS."""
    weight = np.zeros(len(data.label), dtype=np.float32)
    for number, name in enumerate(data.names):
        of_kind = which[data.kind[which] == number]
        if number >= HUMAN:
            weight[of_kind] = COUNTS.get(name, 1.0)
            continue
        for side in (data.label[of_kind] >= 0.5, data.label[of_kind] < 0.5):
            if side.any():
                weight[of_kind[side]] = min(4.0, 700 / side.sum())
    data.weight = weight


def measure(net: Net, data: Data, which: np.ndarray, budget: int) -> dict[str, np.ndarray]:
    """Return the score, greatest doubt and mean doubt of each row."""
    values = np.full((len(data.label), 3), np.nan, dtype=np.float32)
    with torch.no_grad():
        layers = net.layers()
        for rows in batches(data.rows(which, None), budget, None):
            batch = on_gpu(data, rows)
            score, doubts, held = net(layers, batch)
            inner = held.clone()
            greatest = doubts.masked_fill(~inner, -math.inf).max(1).values
            mean = (doubts.sigmoid() * inner).sum(1) / inner.sum(1)
            values[batch["numbers"]] = torch.stack([score, greatest, mean], 1).float().cpu().numpy()
    return {"rows": which, "values": values[which]}


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    good = labels >= 0.5
    order = scores.argsort(kind="stable").argsort(kind="stable") + 1
    n = int(good.sum())
    return float((order[good].sum() - n * (n + 1) / 2) / max(1, n * (len(good) - n)))


def report(data: Data, measured: dict[str, np.ndarray]) -> None:
    rows, values = measured["rows"], measured["values"]
    for number, name in enumerate(data.names):
        of_kind = data.kind[rows] == number
        if of_kind.sum() > 30 and 0 < (data.label[rows][of_kind] >= 0.5).mean() < 1:
            figures = [
                auc(data.label[rows][of_kind], sign * values[of_kind, k]) for k, sign in ((0, 1), (1, -1), (2, -1))
            ]
            print(f"  {name:12}{of_kind.sum():7}" + "".join(f"{f:8.3f}" for f in figures), flush=True)


def keep(path: Path, net: Net) -> None:
    """Save the adapter in half precision and the head, under the base's names in the file."""
    arrays = {}
    for n in range(net.shape.layers):
        for name in PROJECTIONS:
            arrays[f"blk.{n}.{name}.down"] = net.down[f"{n}_{name}"].detach().cpu().numpy().astype(np.float16)
            arrays[f"blk.{n}.{name}.up"] = (SCALE * net.up[f"{n}_{name}"]).detach().cpu().numpy().astype(np.float16)
    arrays["head"] = net.head.detach().cpu().numpy().astype(np.float32)
    arrays["bias"] = net.bias.detach().cpu().numpy().astype(np.float32)
    np.savez(path, **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the reader's adapter.")
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--leave", default="")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=6e-4)
    parser.add_argument("--share", type=float, default=0.5, help="of the generated rows, in each epoch")
    parser.add_argument("--decay", type=float, default=0.05)
    parser.add_argument("--budget", type=int, default=24576)
    parser.add_argument("--most", type=float, default=480.0, help="seconds, after which no epoch is begun")
    parser.add_argument("--limit", type=int, default=0, help="steps, to try things out")
    parser.add_argument("--measure", default="", help="measure these instead of all that is left out")
    options = parser.parse_args()
    started = time.time()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(17)
    torch.backends.cuda.matmul.allow_tf32 = True
    data = Data(options.rows)
    away = data.away([name for name in options.leave.split(",") if name])
    seen = data.away([name for name in options.measure.split(",") if name]) if options.measure else away
    train = np.flatnonzero(((data.use & 1) > 0) & ~away[data.doc])
    test = np.flatnonzero(((data.use & 2) > 0) & seen[data.doc] & away[data.doc])
    balance(data, train)
    net = Net(options.weights, len(data.names))
    head_parameters = [net.head, net.bias]
    adapter = [*net.down.parameters(), *net.up.parameters()]
    optimiser = torch.optim.AdamW(
        [
            {"params": adapter, "lr": options.rate, "weight_decay": options.decay},
            {"params": head_parameters, "lr": 1e-3, "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98), fused=True,
    )  # fmt: skip
    rates = [group["lr"] for group in optimiser.param_groups]
    state_path = options.out / "state.pt"
    first = 0
    if state_path.is_file():
        state = torch.load(state_path, weights_only=True)
        net.load_state_dict(state["net"])
        optimiser.load_state_dict(state["optimiser"])
        first = state["epoch"]
    print(
        f"{len(train)} rows to train on, {len(test)} to measure on, ready after {time.time() - started:.0f} s",
        flush=True,
    )
    for epoch in range(first, options.epochs):
        rng = np.random.default_rng(100 + epoch)
        chosen_pairs = rng.random(len(data.label)) < options.share  # of the generated ones, others in every epoch
        first_of = np.where(data.partner >= 0, data.partner, np.arange(len(data.label)))
        order = batches(
            data.rows(train[(data.kind[train] <= HUMAN) | chosen_pairs[first_of[train]]], rng), options.budget, rng
        )
        total, since, tokens = 0.0, time.time(), 0
        for step, rows in enumerate(order):
            if options.limit and step >= options.limit:
                break
            done = (epoch + step / len(order)) / options.epochs
            for group, rate in zip(optimiser.param_groups, rates):
                group["lr"] = (
                    rate
                    * min(1.0, (epoch * len(order) + step + 1) / 60)
                    * (0.02 + 0.98 * (1 + math.cos(math.pi * done)) / 2)
                )
            batch = on_gpu(data, rows)
            loss = loss_of(net, net.layers(), batch)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*adapter, *head_parameters], 1.0)
            optimiser.step()
            tokens += batch["tokens"].numel()
            if step % 50 == 0:
                total = float(loss.detach())
                print(
                    f"{epoch} {step}/{len(order)} loss {total:.3f} {tokens / (time.time() - since):.0f} tokens/s",
                    flush=True,
                )
                since, tokens = time.time(), 0
        torch.save({"net": net.state_dict(), "optimiser": optimiser.state_dict(), "epoch": epoch + 1}, state_path)
        print(f"epoch {epoch + 1} ends after {time.time() - started:.0f} s", flush=True)
        if time.time() - started > options.most:
            break
    keep(options.out / "adapter.npz", net)
    if len(test):
        measured = measure(net, data, test, options.budget)
        report(data, measured)
        np.savez_compressed(options.out / "scores.npz", **measured)
    (options.out / "made.json").write_text(
        json.dumps({**vars(options), "seconds": time.time() - started}, default=str)
    )
    print(f"done after {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
