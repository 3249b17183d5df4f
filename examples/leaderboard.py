"""A real leaderboard, cost-honest: the summaries of 153 models judged by HHEM, through `mashq score`.

    python examples/leaderboard.py ../shared/data/leaderboard

Takes a folder with `results.csv.gz` (player, item, h, valid, words_in, words_out) and `published.json` (the rates
published for them). Recomputes hallucination and answer rates and compares them with the published ones, then ranks
by H alone and by Q with the length of the output charged, and shows who moves; on the items that everyone answered,
and without the models that answered least.
"""

import csv
import gzip
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

FAITHFUL = 0.5


def prepare(source: Path, target: Path) -> Path:
    """Rows that `mashq score` reads: repeats of (player, item) become trials, invalid answers refusals."""
    seen: Counter[tuple[str, str]] = Counter()
    with gzip.open(source, "rt", newline="") as file, target.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["player", "item", "trial", "h", "status", "tokens"])
        for row in csv.DictReader(file):
            key = row["player"], row["item"]
            seen[key] += 1
            ok = row["valid"] == "1"
            h, status = (row["h"], "ok") if ok else ("", "refused")
            writer.writerow([*key, seen[key], h, status, row["words_out"]])
    return target


def rates(source: Path) -> dict[str, tuple[float, float]]:
    """Hallucination and answer rate of each model, in percent, over all its answers."""
    answers: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    with gzip.open(source, "rt", newline="") as file:
        for row in csv.DictReader(file):
            answers[row["player"]].append((float(row["h"]), row["valid"] == "1"))
    found: dict[str, tuple[float, float]] = {}
    for player, rows in answers.items():
        valid = [h for h, ok in rows if ok]
        wrong = sum(h < FAITHFUL for h in valid) / len(valid)
        found[player] = (100 * wrong, 100 * len(valid) / len(rows))
    return found


def check_published(folder: Path) -> None:
    """How many published rates follow from the data to the printed digit."""
    ours = rates(folder / "results.csv.gz")
    published = json.loads((folder / "published.json").read_text())
    both = hallucination = answered = 0
    apart: list[tuple[float, str, float, float]] = []
    for row in published:
        if row["player"] not in ours:
            continue
        wrong, rate = ours[row["player"]]
        one = abs(round(wrong, 1) - row["hallucination_rate"]) < 0.051
        two = abs(round(rate, 1) - row["answer_rate"]) < 0.051
        hallucination, answered, both = hallucination + one, answered + two, both + (one and two)
        apart.append((abs(wrong - row["hallucination_rate"]), row["player"], wrong, row["hallucination_rate"]))
    print(f"Published rates: {len(published)} models; hallucination rates that follow to the printed digit:")
    print(f"  {hallucination}; answer rates: {answered}; both: {both}. Farthest apart:")
    for _, player, wrong, told in sorted(apart, reverse=True)[:5]:
        print(f"  {player:45} recomputed {wrong:5.1f}%  published {told:5.1f}%")


def score(rows: Path, *options: str) -> dict[str, Any]:
    """What `mashq score` says of the rows."""
    command = [sys.executable, "-m", "mashq", "score", str(rows), "--json", "--resources", "tokens", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def show(title: str, document: dict[str, Any]) -> None:
    """The top of the ranking by Q, with the place by H alone, and who moves most."""
    by_h = sorted(document["players"], key=lambda p: -p["h"])
    by_q = sorted(document["players"], key=lambda p: -p["q"])
    place = {p["name"]: at for at, p in enumerate(by_h, 1)}
    print(f"\n{title}: {document['items']} items, {len(by_q)} models, words out charged at beta {document['beta']}")
    print(f"  {'by Q':>4}  {'by H':>4}  {'model':42} {'H':>7}  {'words':>7}  {'Q':>7}  {'± 95%':>6}  P(win)")
    for at, p in enumerate(by_q[:12], 1):
        half = (p["q_high"] - p["q_low"]) / 2
        words = p["tokens"] / document["items"]
        row = f"{at:4}  {place[p['name']]:4}  {p['name'][:42]:42} {p['h']:7.4f}  {words:7.1f}"
        print(f"  {row}  {p['q']:7.4f}  {half:6.4f}  {p['p_win']:6.3f}")
    moved = sorted(((place[p["name"]] - at, p["name"]) for at, p in enumerate(by_q, 1)), reverse=True)
    print("  up most:  ", ", ".join(f"{name} (+{by})" for by, name in moved[:4]))
    print("  down most:", ", ".join(f"{name} ({by})" for by, name in moved[::-1][:4]))


def main() -> None:
    """The whole example."""
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/leaderboard.py FOLDER")
    folder = Path(sys.argv[1])
    check_published(folder)
    with tempfile.TemporaryDirectory() as name:
        rows = prepare(folder / "results.csv.gz", Path(name) / "rows.csv")
        everyone = score(rows)
        show("On the items that every model answered", everyone)
        lost = everyone["dropped"]
        worst = [player for player, row in lost["by"].items() if row["missing"] > 50]
        print(f"\n{lost['items']} items are lost because someone did not answer them; unanswered most by:")
        for player in worst:
            print(f"  {player:45} {lost['by'][player]['missing']}")
        show(f"Without these {len(worst)} models", score(rows, *(f"--without={player}" for player in worst)))


if __name__ == "__main__":
    main()
