"""The paper's experiments: each with the paper's rows and columns, played, shown, planned and written out."""

import json
import math
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any

import pytest
from click.testing import CliRunner

from mashq.cli import cli
from mashq.config import parse
from mashq.errors import ConfigError
from mashq.paper import simulated
from mashq.paper.experiments import FIGURES, MODELS, experiment, experiments
from mashq.paper.play import Choices, chosen, models_named
from mashq.paper.play import played as played_below
from mashq.paper.shown import title
from mashq.paper.tables import table
from mashq.runs.open import load_season
from mashq.runs.seasons import batches
from tests.report.test_schema import wrong

NAMES = [
    *("main_results_1", "best_of_n", "sota_results", "hyper_ablation", "review", "3_agent_results", "main_results_2"),
    *("case", "react_ablation", "simpleqa_results", "order_ablation", "ablation_1", "ablation_2"),
    *("robustness_results", "main_results_supp", "ablation_supp", "human_validation"),
]
SOME = ("best_of_n", "review", "case", "robustness_results", "ablation_supp")
OWN = [name for name in NAMES if not experiment(name).of]
TABLES = Path(__file__).parents[3] / "shared" / "paper" / "tables.json"
THEIRS = {  # our names of the tables as the file of printed figures calls them
    "main_results_1": "main_results_1",
    "main_results_2": "main_results_2",
    "3_agent_results": "3_agent",
    "simpleqa_results": "simpleqa",
    "best_of_n": "best_of_n",
    "ablation_1": "threshold",
    "ablation_2": "max_reviews",
}


def run(*args: object, ok: bool = True) -> str:
    found = CliRunner().invoke(cli, ["paper", *map(str, args)], catch_exceptions=ok)
    if ok:
        assert found.exit_code == 0, found.output
    return found.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every experiment played, simulated and small."""
    out = tmp_path_factory.mktemp("paper")
    (out / "all.json").write_text(
        run("play", "all", "--simulated", "--limit", 6, "--trials", 3, "--out", out, "--json")
    )
    return out


@pytest.fixture(scope="module")
def played(folder: Path) -> Mapping[str, dict[str, Any]]:
    document = json.loads((folder / "all.json").read_text())
    assert not wrong(document)
    return {one["name"]: one for one in document["experiments"]}


def test_every_experiment_is_there_in_the_papers_order(played: Mapping[str, Any]) -> None:
    assert list(experiments()) == list(played) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_played_experiment_has_the_papers_rows_and_columns(name: str, played: Mapping[str, Any]) -> None:
    one, found = played[name], experiment(name)
    assert one["finished"] and one["simulated"] and one["from_print"] and one["columns"] == found.columns
    labels = [label for group in found.groups for label in group.labels]
    assert [row["label"] for row in one["rows"]] == labels
    if one["printed"]:
        assert [row["label"] for row in one["printed"]] == labels and len(one["differences"]) == len(labels)
    for row in one["rows"]:
        assert all(row[column] is not None for column in found.columns), row["label"]
        assert row["q"] == pytest.approx(row["h"] - row["penalty"])
        assert row["tokens"] == pytest.approx(row["tokens_in"] + row["tokens_out"])


@pytest.mark.parametrize("name", NAMES)
def test_the_identities_of_the_protocol_hold_in_it(name: str, played: Mapping[str, Any]) -> None:
    """calls = 2 x items + reviews for a Q-Agent, n times the first steps for Best-of-N, no decisions in ReAct."""
    for row in played[name]["rows"]:
        plays = int(found[1]) if (found := re.search(r"Best-of-(\d)", row["label"])) else 1
        steps = 1 if row["label"].startswith("ReAct") else 2 * plays
        assert row["calls"] == pytest.approx(steps * row["items"] + row["reviews"]), row["label"]


def test_one_model_in_every_part_plays_every_match(tmp_path: Path) -> None:
    line = ["play", "main_results_1", "--model", "simulated/default", "--detector", "grounding", "--limit", "2"]
    (one,) = json.loads(run(*line, "--out", tmp_path, "--json"))["experiments"]
    labels = [label for group in experiment("main_results_1").groups for label in group.labels]
    assert [row["label"] for row in one["rows"]] == labels and {row["model"] for row in one["rows"]} == {
        "simulated/default"
    }
    assert [row["items"] for row in one["rows"]] == [2] * len(labels)
    assert (one["models"], one["detectors"]) == (["simulated/default"], ["grounding"])
    text = run("show", "main_results_1", "--out", tmp_path, "--format", "md")
    assert "Every row of ours is simulated/default; the names of the rows are the paper's." in text
    assert "Ours: 2 items per match, 1 trial(s), judged by grounding." in text
    found = experiment("main_results_1")
    real = replace(table(found, played_below(found, tmp_path)), simulated=False)
    assert title(real).endswith("five models (ours: simulated/default in every row)")


def test_differences_are_ours_less_the_printed(played: Mapping[str, Any]) -> None:
    one = played["ablation_1"]
    for ours, theirs, apart in zip(one["rows"], one["printed"], one["differences"], strict=True):
        assert apart["q"] == pytest.approx(ours["q"] - theirs["q"])
        a_call = (ours["calls"] / ours["items"]) / (theirs["calls"] / theirs["items"])
        assert apart["calls"] == pytest.approx(a_call - 1)


@pytest.mark.skipif(not TABLES.exists(), reason="the printed figures are not here")
@pytest.mark.parametrize("name", sorted(THEIRS))
def test_printed_figures_are_the_papers(name: str) -> None:
    tables = json.loads(TABLES.read_text())
    wanted = {
        (match["id"], player["player"]): player
        for match in tables["matches"]
        if match["table"] in (THEIRS[name], "main_results_1")
        for player in match["players"]
    }
    found = [row for group in experiment(name).groups for row in group.printed]
    assert found
    by_figures = {(row.player, row.figures["h"], row.figures["q"]): row for row in found}
    for (match, player), row in wanted.items():
        if any(match == one["id"] and one["table"] == THEIRS[name] for one in tables["matches"]):
            ours = by_figures[player, row["h"], row["q"]]
            assert all(ours.figures[key] == row[key] for key in FIGURES if key in row), (match, player)


@pytest.mark.skipif(not TABLES.exists(), reason="the printed figures are not here")
def test_the_other_printed_figures_are_the_papers_too() -> None:
    tables = json.loads(TABLES.read_text())
    stated = [
        (one["h"], one["reviews"], one["penalty"], one["q"])
        for match in tables["penalties_only"]
        for one in match["players"]
    ]
    names = ("hyper_ablation", "sota_results", "react_ablation")
    printed = [row.figures for name in names for group in experiment(name).groups for row in group.printed]
    assert sorted(stated) == sorted((f["h"], f["reviews"], f["penalty"], f["q"]) for f in printed)
    order = [q for row in tables["order_and_vision"] for q in row["q"]]
    assert order == [row.figures["q"] for group in experiment("order_ablation").groups for row in group.printed]
    (trials,) = experiment("robustness_results").groups
    for row, known in zip(trials.printed, tables["trials_100"], strict=True):
        assert all(
            [row.figures[key], row.sd[key]] == known[key]
            for key in ("h", "calls", "tokens", "reviews", "seconds", "q")
        )


@pytest.mark.parametrize("name", OWN)
def test_simulated_players_are_set_by_printed_first_answers_and_costs_alone(name: str, tmp_path: Path) -> None:
    config, season = chosen(experiment(name), Choices(limit=3, simulated=True), tmp_path)
    for model in config.models.values():
        set_ = model.simulate.model_dump(exclude_defaults=True)
        assert set(set_) <= {"h", "tokens_in", "tokens_out", "seconds", *simulated.RESPONSE}
        assert {name: getattr(model.simulate, name) for name in simulated.RESPONSE} == simulated.RESPONSE
    (fixtures,) = batches(config, season, lambda _: ())
    assert len(fixtures) == len(experiment(name).groups) * experiment(name).trials


@pytest.mark.slow
def test_what_is_drawn_at_full_size_is_what_was_printed(tmp_path: Path) -> None:
    """H before review and the cost of a call come out as printed; nothing is said of what reviews make of them."""
    document = json.loads(run("play", "main_results_2", "--simulated", "--limit", 800, "--out", tmp_path, "--json"))
    (one,) = document["experiments"]
    for ours, theirs in zip(one["rows"], one["printed"], strict=True):
        assert ours["h_before_review"] == pytest.approx(theirs["h_before_review"], abs=0.012)
        for name in ("tokens_in", "tokens_out", "seconds"):
            assert ours[name] / ours["calls"] == pytest.approx(theirs[name] / theirs["calls"], rel=0.03)


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.8606, 0.93])
def test_a_bell_cut_off_at_its_ends_has_the_mean_asked_for(mean: float) -> None:
    centre, spread, steps = simulated.unclipped(mean, 0.15), 0.15, 20_000
    points = [(at + 0.5) / steps for at in range(steps)]
    drawn = [min(1.0, max(0.0, NormalDist(centre, spread).inv_cdf(point))) for point in points]
    assert fmean(drawn) == pytest.approx(mean, abs=1e-4)


@pytest.mark.parametrize("name", OWN)
def test_a_configuration_can_be_saved_and_plays_by_the_command_in_it(name: str, tmp_path: Path) -> None:
    text = run("config", name)
    config = parse(text, name)
    assert all(player.model in MODELS.values() for player in config.players)
    (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "simpleqa.csv").write_text("problem,answer\nWho?,Ada\nWhen?,1843\n")
    command = text.splitlines()[1].removeprefix("# mashq ")
    words = [str(tmp_path / word) if word == f"{name}.yaml" else word for word in shlex.split(command)]
    planned = CliRunner().invoke(cli, ["plan", *words, "--json"])
    assert planned.exit_code == 0, planned.output
    made = json.loads(planned.stdout)
    assert made["matches"] == len(experiment(name).groups) * experiment(name).trials


def test_one_that_shows_the_matches_of_others_has_no_configuration_of_its_own() -> None:
    with pytest.raises(ConfigError, match="take the configuration of those"):
        run("config", "review", ok=False)


def test_models_of_ones_own_take_the_papers_places(tmp_path: Path) -> None:
    own = models_named(["ollama/small", "grok-3-beta=ollama/large"])
    config, season = chosen(
        experiment("main_results_2"), Choices(models=own, detector="grounding", limit=3), tmp_path
    )
    assert [player.model for player in config.players] == ["ollama/small"] * 2
    assert season["over"][0][1] == [["ollama/small", "ollama/large"], ["ollama/large", "ollama/small"]]
    assert (config.detector, config.task.limit, config.task.data) == ("grounding", 3, "builtin")
    for wrong_ in ("grok-9=x/y", "gpt-4o-mini="):
        with pytest.raises(ConfigError, match="write it as MODEL for all"):
            models_named([wrong_])
    with pytest.raises(ConfigError, match="needs questions"):
        chosen(experiment("simpleqa_results"), Choices(), tmp_path)
    (tmp_path / "q.csv").write_text("problem,answer\nWho?,Ada\n")
    config, _ = chosen(experiment("simpleqa_results"), Choices(questions=str(tmp_path / "q.csv")), tmp_path)
    assert config.task.data == str(tmp_path / "q.csv") and config.detector == "exact-match" and config.beta == 0.001


def test_playing_again_goes_on_and_other_settings_are_refused(folder: Path, played: Mapping[str, Any]) -> None:
    again = json.loads(run("play", "ablation_2", "--simulated", "--limit", 6, "--out", folder, "--json"))
    assert again["experiments"][0] == played["ablation_2"]
    with pytest.raises(ConfigError, match="was played with other settings"):
        run("play", "ablation_2", "--simulated", "--limit", 7, "--out", folder, ok=False)
    with pytest.raises(ConfigError, match="leave out --model"):
        run("play", "ablation_2", "--simulated", "--model", "x/y", "--out", folder, ok=False)


def test_show_prints_ours_beside_the_printed_in_every_form(folder: Path, played: Mapping[str, Any]) -> None:
    text = run("show", "best_of_n", "--out", folder)
    first = played["best_of_n"]["rows"][0]
    assert re.search(rf"Best-of-1.*{first['h']:.4f}.*{first['q']:.4f}", text)
    assert re.search(r"printed +0\.9144 +2,477 +1,620,000 +851 +9,120\.0 +0\.5144", text)
    assert f"{first['h'] - 0.9144:+.4f}" in next(line for line in text.splitlines() if "difference" in line)
    assert "simulated from printed figures" in text and "Nothing is claimed of how close" in text
    table = run("show", "best_of_n", "--out", folder, "--format", "md")
    assert "| printed | 0.9144 | 2,477 |" in re.sub(" +", " ", table)
    alone = run("show", "best_of_n", "--out", folder / "nothing")
    assert "simulated" not in alone and "As printed." in alone and "difference" not in alone
    shown = json.loads(run("show", *SOME, "--out", folder, "--json"))["experiments"]
    assert shown == [played[name] for name in SOME]


def test_the_page_holds_every_experiment(folder: Path) -> None:
    page = run("show", *SOME, "--out", folder, "--format", "html")
    assert all(name in page for name in SOME) and "0.9144" in page and "Content-Security-Policy" in page
    assert "A case study" in page and "H before and after review." in page


def test_latex_is_whole_and_no_wider_than_a_column(folder: Path, tmp_path: Path) -> None:
    text = run("show", *SOME, "--out", folder, "--format", "latex")
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == len(SOME)
    assert text.count(r"\begin{tabular}") == text.count(r"\resizebox{\ifdim\width>\columnwidth") >= len(SOME)
    for tabular in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        rows = [line for line in tabular[1].splitlines() if line.endswith(r"\\")]
        assert all(len(re.findall(r"(?<!\\)&", row)) == len(tabular[0]) - 1 for row in rows)
    assert r"\cellcolor{gray!20}" in text and r"\textbf{" in text
    if shutil.which("pdflatex") is None:
        return
    packages = r"\usepackage{booktabs,amssymb,graphicx}\usepackage[table]{xcolor}"
    (tmp_path / "t.tex").write_text(
        rf"\documentclass[twocolumn]{{article}}{packages}\begin{{document}}{text}\end{{document}}"
    )
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path, check=False
    )
    assert made.returncode == 0


def test_a_run_that_is_none_of_the_papers_is_told(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "ablation_1", tmp_path / "main_results_1")
    with pytest.raises(ConfigError, match="is not main_results_1 of the paper"):
        run("show", "main_results_1", "--out", tmp_path, ok=False)
    with pytest.raises(ConfigError, match="the paper has no 'ablation_3'"):
        run("show", "ablation_3", ok=False)


def test_plan_adds_up_and_counts_shared_matches_once() -> None:
    made = json.loads(run("plan", "--json"))
    assert not wrong(made)
    own = [one for one in made["experiments"] if not one["shares"]]
    assert made["calls"] == pytest.approx(sum(one["calls"] for one in own))
    assert made["dollars"] == pytest.approx(sum(one["dollars"] for one in own)) and made["dollars"] > 50
    by_name = {one["name"]: one for one in made["experiments"]}
    assert by_name["main_results_1"]["calls"] == 2417 + 2438 + 2304 + 2264 + 2292 + 2233 + 2262 + 2157 + 2376 + 2253
    assert by_name["robustness_results"]["calls"] == 100 * (2417 + 2438)
    assert by_name["review"]["calls"] == 0 and by_name["review"]["shares"] == ["main_results_1"]
    free = json.loads(run("plan", "--model", "local/x.gguf", "--json"))
    assert free["dollars"] == 0 and free["calls"] == made["calls"] and not free["unpriced"]
    listed = run("list")
    assert all(f"mashq paper play {name}:" in listed for name in NAMES)
    assert math.isclose(by_name["react_ablation"]["calls"], 2 * 2 * 813 + 854 + 889 + 2 * 813 + 855 + 890)


def test_policies_told_that_reviews_cost_more_review_less(tmp_path: Path) -> None:
    document = json.loads(run("play", "hyper_ablation", "--simulated", "--limit", 150, "--out", tmp_path, "--json"))
    rows = document["experiments"][0]["rows"]
    reviews = [sum(row["reviews"] for row in rows if row["group"] == group) for group in range(3)]
    assert reviews[0] >= reviews[1] >= reviews[2] < reviews[0], "as in the paper, without its numbers being set"
    costs = {fixture.config.rules.review_cost for fixture in load_season(tmp_path / "hyper_ablation").fixtures()}
    assert costs == {0, 0.01, 0.02}
