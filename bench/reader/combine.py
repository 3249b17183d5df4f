"""Combine the reader's measures with grounding's, and measure both with each set left out.

`python bench/reader/combine.py --rows FILE --folds DIR [--write]`, where DIR holds f1.npz, f2.npz and f3.npz:
the scores of `train.py` on what each fold left out (FOLDS). Needs lightgbm, as `bench/fit_grounding.py` does.

Grounding is fitted anew without each fold, by the shipped choice. The two are combined by a linear model over
grounding's log-odds, the reader's score, its greatest and its mean doubt, fitted on what fold 2 left out (the
second third of the articles, two human sets). For each figure it is fitted again without all that shares a
document with what is measured; the adapter is that of the fold that left it out. `--write` puts the line over
all of it into the package.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import fit_grounding
from fit_grounding import COPIED, Choice, Fitter, Rows, predict
from grounding_parts import HUMAN, auc, sigmoid

from mashq.detectors.grounding.detector import COPY
from mashq.detectors.grounding.trees import load

ROOT = Path(__file__).resolve().parents[2]
FOLDS = {
    "f1": ("third0", "frank", "polytope"),
    "f2": ("third1", "cogensumm", "summeval"),
    "f3": ("factcc", "xsumfaith"),
}
SHIPPED = Choice("all", "even", 200)  # of grounding
SHARES = {"hhem": 0.75, "edit-model": 0.10, "edit-short": 0.05, "planted": 0.10}
PEOPLE = 0.5  # weight of people's labels relative to those, each set with its own intercept
NAMES = ("grounding", "score", "greatest", "mean")


Fit = tuple[np.ndarray, np.ndarray, np.ndarray]


def fit(x: np.ndarray, y: np.ndarray, w: np.ndarray, intercepts: np.ndarray, ridge: float = 1e-3) -> Fit:
    """Return weights of least log-loss, the intercept first, and the mean and spread of each column. The columns
    `intercepts` are fitted and dropped."""
    centre, spread = np.average(x, axis=0, weights=w), x.std(axis=0)
    z = np.column_stack([np.ones(len(x)), (x - centre) / spread, intercepts])
    b = np.zeros(z.shape[1])
    for _ in range(60):
        p = np.clip(sigmoid(z @ b), 1e-6, 1 - 1e-6)
        gradient = z.T @ (w * (y - p)) - ridge * b * ([0] + [1] * (z.shape[1] - 1))
        hessian = (z * (w * p * (1 - p))[:, None]).T @ z + ridge * np.eye(len(b))
        b = b + np.linalg.solve(hessian, gradient)
    return b[: 1 + x.shape[1]], centre, spread


def ece(h: np.ndarray, good: np.ndarray) -> float:
    """Return the expected calibration error: the mean distance of H from the share of good answers, in ten bins."""
    cell = np.minimum((h * 10).astype(int), 9)
    return sum(abs(h[cell == k].sum() - good[cell == k].sum()) for k in range(10)) / len(h)


def grounding(rows: Rows, third: np.ndarray, cache: Path) -> dict[str, np.ndarray]:
    """Return grounding's log-odds by a fit without each fold."""
    if cache.is_file():
        archive = np.load(cache)
        return {name: archive[name] for name in archive.files}
    log_odds: dict[str, np.ndarray] = {}
    fitter = Fitter(rows)
    for name, parts in FOLDS.items():
        away = np.zeros(len(rows.labels), dtype=bool)
        for part in parts:
            in_part = third == int(part[5:]) if part.startswith("third") else rows.kinds == part
            away |= np.isin(rows.documents, rows.documents[in_part])
        log_odds[name] = predict(fitter(~away, SHIPPED), rows.x)
    np.savez(cache, **log_odds)
    return log_odds


def main() -> None:
    parser = argparse.ArgumentParser(description="Join the reader with grounding and measure.")
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--folds", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/detector")
    parser.add_argument("--news", type=Path, default=ROOT.parent / "shared/data/news/wikinews.jsonl")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    features = options.folds / "features.npz"
    if features.is_file():
        archive = np.load(features)
        rows = Rows(archive["kinds"], archive["tests"], archive["documents"], archive["labels"], archive["x"])
    else:
        rows = fit_grounding.read_rows(options.data, options.news)
        np.savez(features, kinds=rows.kinds, tests=rows.tests, documents=rows.documents, labels=rows.labels, x=rows.x)
    data = np.load(options.rows)
    n = len(rows.labels)
    third, label = data["third"][data["doc"][:n]], rows.labels
    assert np.allclose(data["label"][:n], label), "an answer without words shifts the rows"
    log_odds = grounding(rows, third, options.folds / "grounding.npz")
    trees = load()
    x: dict[str, np.ndarray] = {}
    for name in FOLDS:
        archive = np.load(options.folds / f"{name}.npz")
        x[name] = np.full((n, 4), np.nan)
        x[name][:, 0] = trees.intercept + trees.steepness * log_odds[name]  # as the shipped detector has them
        x[name][archive["rows"], 1:] = archive["values"]
    copied = rows.x[:, COPIED] >= 1.0
    people = np.column_stack([rows.kinds == name for name in HUMAN])

    def line_without(away: np.ndarray) -> Fit:
        """Fit the linear model on what fold 2 left out, without these rows."""
        use = ~away & ~copied & ~np.isnan(x["f2"][:, 1])
        w = np.zeros(n)
        for kind, share in SHARES.items():
            selected = use & (rows.kinds == kind) & (third == 1)
            w[selected] = share / selected.sum()
        for k in range(len(HUMAN)):
            selected = use & people[:, k]
            for side in (selected & (label >= 0.5), selected & (label < 0.5)):
                w[side] = PEOPLE / 2 * (selected.sum() / (use & people.any(1)).sum()) / max(1, side.sum())
        selected = w > 0
        return fit(x["f2"][selected], label[selected], w[selected] / w[selected].sum(), people[selected])

    shipped = line_without(np.zeros(n, dtype=bool))
    print("line", dict(zip(("shift", *NAMES), shipped[0].round(3).tolist())))

    def joined(name: str, fitted: Fit) -> np.ndarray:
        line, centre, spread = fitted
        z = line[0] + ((x[name] - centre) / spread) @ line[1:]
        h = sigmoid(z)
        return np.where(copied, COPY + (1 - COPY) * h, h)

    def show(name: str, fold: str, test: np.ndarray) -> list[float]:
        plain = np.where(copied, COPY + (1 - COPY) * sigmoid(log_odds[fold]), COPY * sigmoid(log_odds[fold]))
        away = np.isin(rows.documents, rows.documents[test])
        areas = [auc(label[test], v[test]) for v in (plain, x[fold][:, 1], joined(fold, line_without(away)))]
        print(f"{name:26}{test.sum():7}" + "".join(f"{v:8.3f}" for v in areas), flush=True)
        return areas

    print(f"{'left out':26}{'rows':>7}{'ground':>8}{'alone':>8}{'joined':>8}")
    figures: list[list[float]] = []
    for fold, parts in FOLDS.items():
        figures += [show(part, fold, rows.kinds == part) for part in parts if part in HUMAN]
    print(f"{'mean of the six':33}" + "".join(f"{v:8.3f}" for v in np.mean(figures, axis=0)))
    first = third == 0
    for kind in ("hhem", "edit-copy", "edit-short", "edit-model", "planted"):
        show(kind, "f1", first & (rows.kinds == kind))
    for kind in ("edit-model", "edit-short"):
        for test in sorted(set(rows.tests[rows.kinds == kind])):
            show(f"  {kind} {test}", "f1", first & (rows.kinds == kind) & (rows.tests == test))
    h = joined("f1", line_without(first))
    for kind in ("hhem", "edit-model", "edit-short"):
        of_kind = first & (rows.kinds == kind)
        verdict, soft = ece(h[of_kind], label[of_kind] >= 0.5), ece(h[of_kind], label[of_kind])
        print(f"{kind}: ECE {verdict:.3f} by verdict, {soft:.3f} by HHEM's score")
        for low in range(10):
            cell = of_kind & (h >= low / 10) & (h < (low + 1) / 10 + (low == 9))
            if cell.sum() >= 20:
                good, mean = (label[cell] >= 0.5).mean(), label[cell].mean()
                print(f"  {low / 10:.1f}{cell.sum():7}  H {h[cell].mean():.2f}  good {good:.2f}  label {mean:.2f}")
    if options.write:
        line, centre, spread = shipped
        slopes = line[1:] / spread
        document = {"made_by": "bench/reader/combine.py --write", "intercept": float(line[0] - slopes @ centre)}
        document |= {name: float(value) for name, value in zip(NAMES, slopes)}
        (ROOT / "src/mashq/detectors/reader/line.json").write_text(
            json.dumps(document, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
