"""`mashq tournament`, `mashq game` and `mashq vision`: many matches in one resumable directory."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mashq.cli.playing import Playing, play_options
from mashq.errors import ConfigError

if TYPE_CHECKING:
    from mashq.config import Config

PRESETS: dict[str, dict[str, Any]] = {
    "frugal": {"policy": "rule", "R": 0},
    "rule": {"policy": "rule"},
    "lavish": {"policy": "rule", "T": 1.0},
    "llm": {"policy": "llm"},
    "bayes": {"policy": "bayes"},
}


@click.command()
@click.option(
    "--system",
    type=click.Choice(["round-robin", "swiss"]),
    default="round-robin",
    show_default=True,
    help="How players are paired.",
)
@click.option("--rounds", type=click.IntRange(1), help="Rounds of a Swiss tournament; about log2 of the field.")
@click.option("--seats", default=2, show_default=True, type=click.IntRange(2), help="Players per match.")
@click.option("--join", type=click.Path(path_type=Path), help="Add CONFIG's new players to this finished tournament.")
@play_options
def tournament(
    playing: Playing,
    system: str,
    rounds: int | None,
    seats: int,
    join: Path | None,
) -> None:
    """Play every player of CONFIG against every other, in both orders, and rate them with intervals.

    Round robin plays all pairs; Swiss pairs players with equal points, round by round. With --seats 3 and more,
    matches have that many players and the ratings are Plackett-Luce's.

    \b
    Examples:
      mashq tournament field.yaml --trials 3
      mashq tournament field.yaml --system swiss --rounds 5
      mashq tournament more-players.yaml --join runs/league
    """
    config, settings = playing.config, playing.settings()
    if join is not None:
        playing.join(settings, join)
        return
    count = len(settings.players)
    if count < 2:
        raise ConfigError(f"{config} has one player: a tournament needs two or more")
    if system == "swiss" and seats != 2:
        raise ConfigError("--system swiss pairs players: leave --seats at 2, or use round-robin")
    season = {"kind": "tournament", "system": system, "seats": seats}
    if system == "swiss":
        season["rounds"] = rounds or max(1, (count - 1).bit_length())
    playing.play(settings, season)


@click.command()
@click.option("--policies", metavar="NAME,…", help=f"Policies for the first player to try: {', '.join(PRESETS)}.")
@click.option("--vision", default="never,review", show_default=True, metavar="WHEN,…", help="Visions to play.")
@play_options
def game(
    playing: Playing,
    policies: str | None,
    vision: str,
) -> None:
    """The match as a game: every policy against every other, payoffs with intervals, equilibria, best responses.

    The strategies are the players of CONFIG or, with --policies, its first player under different policies (frugal
    never reviews, lavish reviews all it can). Every pair plays in both orders and each strategy against itself, under
    each vision; what vision changes is the price of disclosure.

    \b
    Examples:
      mashq game match.yaml --policies frugal,rule,lavish --trials 5
      mashq game policies.yaml --vision never,review,always --json
    """
    config, settings = playing.config, playing.settings()
    if policies is not None:
        settings = _with_policies(settings, policies)
        if len(settings.players) < 2:
            raise ConfigError(f"--policies {policies!r} names one policy: a game needs two, such as frugal,rule")
    if len(settings.players) < 2:
        raise ConfigError(f"{config} has one player: a game needs two strategies, name them with --policies")
    whens = [when.strip() for when in vision.split(",")]
    for when in whens:
        if when not in ("never", "review", "always"):
            raise ConfigError(f"--vision {when!r}: it is never, review or always")
    season = {"kind": "game", "vision": list(dict.fromkeys(whens))}
    playing.play(settings, season)


@click.command()
@click.option(
    "--when",
    type=click.Choice(["review", "always"]),
    default="review",
    show_default=True,
    help="When rivals are shown, with vision.",
)
@play_options
def vision(
    playing: Playing,
    when: str,
) -> None:
    """Do rivals change how players play? Each player of CONFIG alone, then together unseen, then with vision.

    Every player keeps its item order and its seeds; differences in H, reviews and costs are paired by item.

    \b
    Example:
      mashq vision match.yaml --trials 5
    """
    config, settings = playing.config, playing.settings()
    if len(settings.players) < 2:
        raise ConfigError(f"{config} has one player: a vision study needs two or more")
    playing.play(settings, {"kind": "vision", "when": when})


def _with_policies(settings: "Config", names: str) -> "Config":
    """The first player under each of the given policies."""
    from mashq.config import check, nearest

    base = settings.players[0].model_dump(mode="json")
    players: list[dict[str, Any]] = []
    for name in (name.strip() for name in names.split(",")):
        if name not in PRESETS:
            raise ConfigError(f"--policies {name!r} is not a policy{nearest(name, list(PRESETS))}")
        players.append({**base, **PRESETS[name], "name": name})
    return check(settings.model_dump(mode="json") | {"players": players}, "--policies")
