"""Do 95% intervals of ratings contain the truth 95% of the time, and how long does rating take?

Games: outcomes are drawn from known strengths (Bradley-Terry with ties, Plackett-Luce), games are the unit.

Items: players of known quality and price answer items of varying difficulty, anew in every match, and Q decides; a
round robin in both orders (or matches of three), items are the unit. A player's true rating is the fit to the
probabilities of winning a match of half as many items, estimated from many such matches; also printed is how often
the interval would contain the rating for matches of all the items. `given` is how often there is an interval: none
where the prior decides.
"""

import argparse
import time
from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from mashq.analysis.intervals import draws
from mashq.analysis.ratings.bradley_terry import fit_pairs
from mashq.analysis.ratings.fit import Game, Ratings, rate
from mashq.analysis.ratings.outcomes import pair_outcomes, records
from mashq.analysis.ratings.plackett_luce import contest, fit_orders
from mashq.protocol.results import Floats

Seats = Sequence[tuple[int, ...]]
HEAD = "covered %  worst player %  width  true rank in range %  given %"


class Tally:
    """Counts how often intervals contained the truth, of those that were given."""

    def __init__(self, truth: Floats, samples: int) -> None:
        self.truth, self.samples = truth, samples
        self.rank = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
        self.hits, self.given, self.ranks, self.width = np.zeros(len(truth)), np.zeros(len(truth)), 0.0, 0.0

    def add(self, ratings: Ratings) -> None:
        """Add one sample."""
        given = ~np.isnan(ratings.low)
        self.given += given
        self.hits += given & (ratings.low <= self.truth) & (self.truth <= ratings.high)
        self.width += float((ratings.high - ratings.low)[given].sum())
        in_range = [
            rank is not None and rank[0] <= at <= rank[1] for rank, at in zip(ratings.ranks, self.rank, strict=True)
        ]
        self.ranks += float(np.mean(in_range)) / self.samples

    @property
    def share(self) -> float:
        """Coverage over all players, in percent."""
        return 100 * float(self.hits.sum() / self.given.sum())

    def __str__(self) -> str:
        worst = 100 * float(np.min(self.hits[self.given > 0] / self.given[self.given > 0]))
        width, given = self.width / self.given.sum(), 100 * self.given.mean() / self.samples
        return f"{self.share:9.1f}  {worst:14.1f}  {width:5.2f}  {100 * self.ranks:20.1f}  {given:7.1f}"


def classical(players: int, seats: int, rounds: int, nu: float, spread: float, samples: int, seed: int) -> Tally:
    """Measure coverage on games drawn from known strengths: every group of `seats` plays `rounds` times."""
    random = np.random.default_rng(seed)
    truth = np.linspace(-spread, spread, players)
    tally = Tally(truth, samples)
    names = [f"p{at}" for at in range(players)]
    for _ in range(samples):
        games: list[Game] = []
        for group in combinations(range(players), seats):
            for _ in range(rounds):
                q = truth[list(group)] + random.gumbel(size=seats)
                if seats == 2:
                    half = np.exp((truth[group[0]] - truth[group[1]]) / 2)
                    chance = np.array([half, nu, 1 / half])
                    q = np.array([(1.0, 0.0), (0.0, 0.0), (0.0, 1.0)])[random.choice(3, p=chance / chance.sum())]
                games.append(Game(group, q))
        tally.add(rate(games, names, resamples=1000, seed=int(random.integers(2**31))))
    return tally


class World:
    """Players with a quality and a price; `binary` answers are right or wrong, `fresh` ones vary between matches."""

    def __init__(self, players: int, gap: float, *, binary: bool, fresh: float, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.quality = gap * np.linspace(-1, 1, players)[random.permutation(players)]
        self.price = random.normal(0, 0.25, players)
        self.binary, self.fresh = binary, fresh

    def play(self, seats: Seats, items: int, random: np.random.Generator) -> tuple[Floats, Floats]:
        """Return H and tokens, matches x seats x items; all matches use the same items."""
        at = np.array(seats)
        players = len(self.quality)
        hard, size = random.normal(1, 1, items), random.normal(0, 0.5, items)
        suits, long = random.normal(0, 0.7, (players, items)), random.normal(0, 0.3, (players, items))
        level = (self.quality[:, None] + hard + suits)[at] + self.fresh * random.normal(0, 0.7, (*at.shape, items))
        right = 1 / (1 + np.exp(-level))
        h = (random.random(right.shape) < right).astype(np.float64) if self.binary else right
        noise = self.fresh * random.normal(0, 0.4, (*at.shape, items))
        return h, np.exp((self.price[:, None] + size + long)[at] + noise)


def q_of(h: Floats, tokens: Floats, drawn: Floats) -> Floats:
    """Return Q of every match under every draw of items: draws x matches x seats."""
    count, shape = drawn.sum(axis=1)[:, None], (len(drawn), *h.shape[:2])
    mean_h = (drawn @ h.reshape(-1, h.shape[2]).T / count).reshape(shape)
    cost = (drawn @ tokens.reshape(-1, h.shape[2]).T / count).reshape(shape)
    return mean_h - 0.1 * cost / cost.max(axis=2, keepdims=True)


def truth(world: World, seats: Seats, items: int, matches: int, seed: int) -> Floats:
    """Return the fit to the probabilities of winning matches of that many items, estimated from many matches."""
    random = np.random.default_rng(seed)
    players, all_items = len(world.quality), np.ones((1, items))
    q = np.concatenate([q_of(*world.play(seats, items, random), all_items) for _ in range(matches)])
    if len(seats[0]) == 2:
        total = sum(pair_outcomes([Game(s, q[at, n]) for n, s in enumerate(seats)])[1] for at in range(matches))
        pairs, _ = pair_outcomes([Game(s, q[0, n]) for n, s in enumerate(seats)])
        return fit_pairs(pairs, np.asarray(total) / matches, players).strength[0]
    places = np.argsort(np.argsort(-q, axis=2), axis=2)
    return fit_orders([contest(s, places[:, n].T[:, None, :]) for n, s in enumerate(seats)], players, 1).strength[0]


def clustered(
    world: World, seats: Seats, items: int, samples: int, resamples: int, matches: int, seed: int
) -> tuple[Tally, Tally]:
    """Measure coverage in tournaments over items: of the ratings for half as many items, and for all of them."""
    half, full = (Tally(truth(world, seats, n, matches, seed), samples) for n in (items // 2, items))
    random = np.random.default_rng(seed + 1)
    names = [f"p{at}" for at in range(len(world.quality))]
    for _ in range(samples):
        h, tokens = world.play(seats, items, random)
        q = q_of(h, tokens, np.ones((1, items)))[0]
        drawn = np.concatenate(list(draws(items, resamples, int(random.integers(2**31)))))
        resampled_q = q_of(h, tokens, drawn)
        ratings = rate([Game(s, q[at], resampled_q[:, at]) for at, s in enumerate(seats)], names, items)
        half.add(ratings)
        full.add(ratings)
    return half, full


def best_first(
    world: World, seats: Seats, items: int, samples: int, resamples: int, matches: int, seed: int
) -> tuple[float, float, float, float]:
    """Return how often the truly best of a round robin is rated first, by shares of resamples and by wins alone (ties
    shared); how often somebody wins every match, and how often such a player is not rated first."""
    best = int(truth(world, seats, items, matches, seed).argmax())
    random = np.random.default_rng(seed + 1)
    names = [f"p{at}" for at in range(len(world.quality))]
    counts = np.zeros(4)
    for _ in range(samples):
        h, tokens = world.play(seats, items, random)
        q = q_of(h, tokens, np.ones((1, items)))[0]
        drawn = np.concatenate(list(draws(items, resamples, int(random.integers(2**31)))))
        resampled_q = q_of(h, tokens, drawn)
        games = [Game(s, q[at], resampled_q[:, at]) for at, s in enumerate(seats)]
        total = records(games, len(names)).sum(axis=1)
        first = int(rate(games, names, items).fit.strength.argmax())
        top = total[:, 0] == total[:, 0].max()
        unbeaten = total[:, 1:].sum(axis=1) == 0
        counts += [first == best, top[best] / top.sum(), unbeaten.any(), unbeaten.any() and not unbeaten[first]]
    shares = 100 * counts / samples
    return float(shares[0]), float(shares[1]), float(shares[2]), float(shares[3])


def speed() -> None:
    """Print seconds for typical tournament sizes."""
    random = np.random.default_rng(0)
    players = 20
    strength = random.normal(0, 1, players)
    chance = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    games = np.triu(np.full((players, players), 105), 1)
    ties = random.binomial(games, 0.1)
    wins = random.binomial(games - ties, chance)
    lost = games - ties - wins
    durations: list[float] = []
    for _ in range(20):
        start = time.perf_counter()
        fit_pairs(np.argwhere(games), np.stack([wins, ties, lost], -1)[games > 0][None].astype(np.float64), players)
        durations.append(time.perf_counter() - start)
    print(f"Bradley-Terry, {players} players x {games.sum():,} games: {1000 * np.median(durations):.1f} ms")
    for size, seats in (
        (2, list(permutations(range(players), 2))),
        (3, [tuple(random.permutation(players)[:3].tolist()) for _ in range(200)]),
        (4, [tuple(random.permutation(players)[:4].tolist()) for _ in range(100)]),
    ):
        q = [0.02 * strength[list(s)] + random.normal(0, 0.03, size) for s in seats]
        played = [Game(s, q[at], q[at] + random.normal(0, 0.03, (2000, size))) for at, s in enumerate(seats)]
        start = time.perf_counter()
        rate(played, [f"p{at}" for at in range(players)], items=100)
        print(f"rate, {len(seats)} games of {size}, 2000 resamples: {time.perf_counter() - start:.1f} s", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=400, help="tournaments a row")
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--matches", type=int, default=4000, help="matches that make the truth")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    speed()
    print(f"\nRound robins of six, {options.samples} a row, in %")
    print("items  answers           gap  best first  by wins alone  somebody unbeaten  and not first")
    for items, kind, gap in (
        (30, "graded, fresh", 0.2),
        (100, "graded, fresh", 0.2),
        (100, "graded, the same", 0.2),
        (100, "graded, fresh", 0.4),
    ):
        world = World(6, gap, binary=False, fresh=float("fresh" in kind), seed=options.seed)
        settings = (options.samples, options.resamples, options.matches, options.seed)
        result = best_first(world, list(permutations(range(6), 2)), items, *settings)
        print(f"{items:5}  {kind:16}  {gap:3}  " + "  ".join(f"{share:11.1f}" for share in result), flush=True)
    print(f"\nGames as the unit, {options.samples} tournaments a row")
    print(f"players  seats  rounds    nu  {HEAD}")
    for players, seats, rounds, nu in (
        (8, 2, 2, 0.0),
        (8, 2, 6, 0.5),
        (8, 2, 20, 0.3),
        (4, 2, 10, 0.3),
        (12, 2, 4, 0.3),
        (6, 3, 2, 0.0),
    ):
        result = classical(players, seats, rounds, nu, 1.5, options.samples, options.seed)
        print(f"{players:7}  {seats:5}  {rounds:6}  {nu:4}  {result}", flush=True)
    print(f"\nItems as the unit, {options.samples} tournaments a row")
    print(f"players  seats  items  answers                 gap  {HEAD}  as if of all items %")
    overall: list[float] = []
    for players, seats, items, kind, gap in (
        (6, 2, 30, "graded, fresh", 0.2),
        (6, 2, 100, "graded, fresh", 0.1),
        (6, 2, 100, "graded, fresh", 0.4),
        (6, 2, 30, "graded, the same", 0.2),
        (6, 2, 100, "graded, the same", 0.2),
        (12, 2, 100, "graded, the same", 0.3),
        (6, 2, 100, "right or wrong, fresh", 0.4),
        (6, 2, 300, "graded, fresh", 0.2),
        (6, 2, 300, "right or wrong, fresh", 0.4),
        (12, 2, 100, "graded, fresh", 0.3),
        (6, 3, 30, "graded, fresh", 0.2),
        (6, 3, 100, "graded, fresh", 0.2),
        (6, 3, 100, "graded, the same", 0.2),
        (6, 3, 100, "right or wrong, fresh", 0.4),
    ):
        world = World(players, gap, binary="wrong" in kind, fresh=float("fresh" in kind), seed=options.seed)
        table = list(permutations(range(players), 2)) if seats == 2 else list(combinations(range(players), seats))
        settings = (options.samples, options.resamples, options.matches, options.seed)
        half, full = clustered(world, table, items, *settings)
        overall.append(half.share)
        print(f"{players:7}  {seats:5}  {items:5}  {kind:21}  {gap:4}  {half}  {full.share:18.1f}", flush=True)
    print(f"all rows: {np.mean(overall):.1f}%")


if __name__ == "__main__":
    main()
