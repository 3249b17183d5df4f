"""Single things that happened in a match, in a sentence each. Pure."""

from dataclasses import dataclass

from mashq.analysis.story.parts import STEADY, Cycle, Part, Reaction, Trouble, listed, named, plural


@dataclass(frozen=True, slots=True)
class Beat:
    """One thing that happened: in which round (from 1), to whom, in a sentence, and how much it matters (0 to 1)."""

    round: int
    players: tuple[str, ...]
    sentence: str
    importance: float
    kind: str


def cycle_beat(part: Part, cycle: Cycle | None) -> Beat | None:
    """A review cycle that came to its end (or stands where the moves end)."""
    if cycle is None or not cycle.rewrites:
        return None
    count, gain = cycle.rewrites, cycle.h - cycle.before
    times = {1: "once", 2: "twice"}.get(count, f"{count} times")
    before, after = f"{cycle.before:.3f}", f"{cycle.h:.3f}"
    said = f"{named(part.name)} rewrote {named(cycle.item)} {times}: H "
    said += f"stayed at {after}" if before == after else f"{before} → {after}"
    weight = 0.12 + 0.48 * abs(gain) + (0.12 * min(count, 3) if gain <= 0 else 0.0)
    if part.threshold is not None and not part.apart:
        if cycle.before >= part.threshold:
            said += f", which was over its threshold {part.threshold:g} before"
            weight += 0.15
        elif cycle.h >= part.threshold:
            said += f", over its threshold {part.threshold:g}"
        else:
            said += f", still under its threshold {part.threshold:g}"
            weight += 0.1
    if cycle.unusable:
        said += f"; {plural(cycle.unusable, 'rewrite was', 'rewrites were')} refused or failed"
    return Beat(cycle.round + 1, (part.name,), said + ".", min(0.9, weight), "review")


def trouble_beat(part: Part, trouble: Trouble) -> Beat:
    """Something that went wrong, once or often."""
    who, times = named(part.name), trouble.count
    why = f" ({named(trouble.why, 160)})" if trouble.why else ""
    often = "once" if times == 1 else f"{times} times, first here and last in round {trouble.last + 1}"
    if trouble.kind == "fallback":
        said, weight = f"{who}'s policy gave no usable decision {often}; that counts as continue.", 0.4
    elif trouble.kind.startswith("override"):
        _, asked, meant = trouble.kind.split(" ")
        said, weight = f"{who} chose '{asked}' {often}, and the rules made it '{meant}'{why}.", 0.45
    elif trouble.kind == "attempts":
        said = f"{plural(times, 'attempt')} of {who} failed"
        said += f", {trouble.most} of them in round {trouble.most_round + 1}." if times > trouble.most else "."
        weight = 0.35
    else:
        item = f" {named(trouble.item)}" if times == 1 and trouble.item else f" {plural(times, 'item')}"
        why = f" (the first: {named(trouble.why, 160)})" if trouble.why and times > 1 else why
        said, weight = f"{who} {trouble.kind}{item}{why}.", 0.6
    return Beat(trouble.first + 1, (part.name,), said, min(0.9, weight + 0.02 * min(times, 15)), "trouble")


def reaction_beat(part: Part, reaction: Reaction, ended: bool) -> Beat:
    """What a player did right after it was shown a rival."""
    shown = [
        f"{named(rival)}'s state after {plural(work.count, 'review')} of {named(work.item)}"
        for rival, work in reaction.shown
    ]
    said, habit = f"{named(part.name)} was shown {listed(shown)} and ", plural(reaction.streak, "round")
    since = part.decided - reaction.decided
    final = ended and not reaction.reviews and part.last_review < reaction.round and since >= STEADY
    if reaction.reviews:
        said += f"reviewed, which it had not done for {habit}"
    elif final:
        said += f"stopped reviewing: it had reviewed for {habit} in a row, and in none of the {since} that followed"
    else:
        said += f"did not review, after {habit} of reviewing in a row"
    weight = min(0.9, 0.3 + 0.05 * min(reaction.streak, 8) + (0.2 if final else 0.0))
    players = (part.name, *(rival for rival, _ in reaction.shown))
    return Beat(reaction.round + 1, players, said + ".", weight, "reaction")
