"""The reader's speed on one GPU: `python bench/reader/speed_gpu.py --rows FILE --weights GGUF`.

Pairs per second of random tokens, median 700 per pair (lognormal, sigma 0.5), without tokenising; the worst
shift of 16 bits from fp32 over real pairs of FILE, in the terms of the log-odds and as H; whether the batch matters.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from mashq.detectors.reader.adapter import load
from mashq.detectors.reader.gguf import Gguf
from mashq.detectors.reader.gpu import Gpu
from mashq.detectors.reader.model import Model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    options = parser.parse_args()
    adapter = load()
    file = Gguf(options.weights)
    ways = {kind: Gpu(torch, file, adapter, "cuda", kind) for kind in ("bf16", "fp16", "fp32")}
    data = np.load(options.rows)
    rng = np.random.default_rng(4)
    tokens, ends, docs, doc_ends = data["answer_tokens"], data["answer_ends"], data["doc_tokens"], data["doc_ends"]
    real = []
    for i in rng.choice(35000, 400, replace=False):
        d = data["doc"][i]
        source = [*data["prefix"], *docs[doc_ends[d] : doc_ends[d + 1]][:1400], *data["middle"]]
        real.append(([int(t) for t in source], [int(t) for t in [*tokens[ends[i] : ends[i + 1]], *data["end"]]]))
    measures = {kind: way.measures(real) for kind, way in ways.items()}
    for kind in ("bf16", "fp16"):
        a, b = (np.array([(m.score, m.greatest, m.mean) for m in measures[name]]) for name in (kind, "fp32"))
        scores = [[adapter.line.h(0.0, m) for m in measures[name]] for name in (kind, "fp32")]
        shift = abs(np.subtract(*scores))
        print(f"{kind} from fp32, worst shift of score, greatest, mean: {abs(a - b).max(0)}")
        print(f"  as H, grounding undecided: worst {shift.max():.4f}, 99% {np.quantile(shift, 0.99):.4f}", flush=True)
    quick = ways["fp16"]
    others = {"three of them": (quick.measures(real[:3]), measures["fp16"][:3])}
    others["the other way round"] = (quick.measures(real[::-1])[::-1], measures["fp16"])
    for name, (first, second) in others.items():
        print(f"{name}: {sum(x != y for x, y in zip(first, second))} of {len(first)} differ")
    model = Model(file, adapter.changed)
    c = [adapter.measures(model.states(model.read(s), t)).score for s, t in real[:5]]
    print("numpy beside torch fp32:", np.round(c, 4), [round(m.score, 4) for m in measures["fp32"][:5]])
    sizes = np.clip(rng.lognormal(np.log(600), 0.5, 8000), 60, 4000).astype(int)
    pairs = [(rng.integers(20, 49000, n).tolist(), rng.integers(20, 49000, 100).tolist()) for n in sizes]
    total = sum(len(s) + len(t) for s, t in pairs)
    for kind in ("fp16", "bf16", "fp16", "bf16"):
        torch.cuda.synchronize()
        started = time.time()
        ways[kind].measures(pairs)
        seconds = time.time() - started
        print(
            f"{kind}: {len(pairs) / seconds:.0f} pairs/s, {total / seconds:.0f} tokens/s, "
            f"median {np.median(sizes) + 100:.0f} tokens"
        )


if __name__ == "__main__":
    main()
