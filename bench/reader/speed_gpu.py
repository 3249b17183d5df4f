"""The reader on one GPU: `python bench/reader/speed_gpu.py --rows FILE --weights GGUF --adapter NPZ`.

Pairs a second of random tokens, median 700 a pair (lognormal, sigma 0.5), tokenising not counted; the worst
shift of bf16 from fp32 over real pairs of FILE, in the log-odds' terms and as H at the steepest place; whether
the batch matters.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from mashq.detectors.reader.adapter import Adapter, Line
from mashq.detectors.reader.gguf import Gguf
from mashq.detectors.reader.gpu import Gpu
from mashq.detectors.reader.model import Model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, required=True)
    options = parser.parse_args()
    held = {name: value.astype(np.float32) for name, value in np.load(options.adapter).items()}
    names = [name.removesuffix(".down") for name in held if name.endswith(".down")]
    parts = {name: (held[f"{name}.down"], held[f"{name}.up"]) for name in names}
    adapter = Adapter(parts, held["head"], float(held["bias"][-1]), Line(0.0, 0.0, 1.0, 0.0, 0.0), "")
    file = Gguf(options.weights)
    quick, exact = (Gpu(torch, file, adapter, "cuda", kind) for kind in ("bf16", "fp32"))
    data = np.load(options.rows)
    rng = np.random.default_rng(4)
    tokens, ends, docs, doc_ends = data["answer_tokens"], data["answer_ends"], data["doc_tokens"], data["doc_ends"]
    real = []
    for i in rng.choice(35000, 400, replace=False):
        d = data["doc"][i]
        source = [*data["prefix"], *docs[doc_ends[d] : doc_ends[d + 1]][:1400], *data["middle"]]
        real.append(([int(t) for t in source], [int(t) for t in [*tokens[ends[i] : ends[i + 1]], *data["end"]]]))
    a, b = (np.array([(m.score, m.greatest, m.mean) for m in way.measures(real)]) for way in (quick, exact))
    print("bf16 from fp32, worst shift of score, greatest, mean:", abs(a - b).max(0), "mean", abs(a - b).mean(0))
    h = [1 / (1 + np.exp(-z[:, 0])) for z in (a, b)]
    print(
        f"as H of the score alone: worst {abs(h[0] - h[1]).max():.4f}, 99% {np.quantile(abs(h[0] - h[1]), 0.99):.4f}"
    )
    few = quick.measures(real[:3])
    print("the batch matters:", few != quick.measures(real)[:3])
    model = Model(file, adapter.changed)
    c = [adapter.measures(model.states(model.read(s), t)).score for s, t in real[:5]]
    print("numpy beside torch fp32:", np.round(c, 4), np.round(b[:5, 0], 4))
    sizes = np.clip(rng.lognormal(np.log(600), 0.5, 8000), 60, 4000).astype(int)
    pairs = [(rng.integers(20, 49000, n).tolist(), rng.integers(20, 49000, 100).tolist()) for n in sizes]
    for _ in range(2):
        torch.cuda.synchronize()
        began = time.time()
        quick.measures(pairs)
        took = time.time() - began
        total = sum(len(s) + len(t) for s, t in pairs)
        print(
            f"{len(pairs) / took:.0f} pairs/s, {total / took:.0f} tokens/s, "
            f"median {np.median(sizes) + 100:.0f} tokens"
        )


if __name__ == "__main__":
    main()
