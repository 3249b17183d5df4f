"""`mashq paper`: the paper's printed scores beside the recomputed ones, and its experiments, one command each."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from mashq.cli.groups import Group
from mashq.errors import ConfigError

if TYPE_CHECKING:
    from mashq.paper.documents import PaperTables

Form = Literal["table", "md", "latex", "html"]
OUT = Path("runs") / "paper"
format_option = click.option(
    "--format", "form", type=click.Choice(["table", "md", "latex", "html"]), default="table", show_default=True
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
out_option = click.option(
    "--out", type=click.Path(path_type=Path), default=OUT, show_default=True, help="The folder of the runs."
)
model_option = click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[THEIRS=]MODEL",
    help="Ask MODEL for all of the paper's models, or for one of them: gpt-4o-mini=ollama/llama3.",
)


@click.group(cls=Group, invoke_without_command=True)
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@json_option
@click.pass_context
def paper(context: click.Context, form: Literal["table", "md", "latex"], as_json: bool) -> None:
    """The MAS-HQ paper, table by table.

    Alone: every Q-Score it prints beside what its counts, or its printed penalty, give, and its Best-of-N table as
    printed and as one match of all five players. With a command: its experiments.

    \b
    Examples:
      mashq paper --format md
      mashq paper list
      mashq paper play main_results_1 --simulated --limit 50
      mashq paper show best_of_n
    """
    if context.invoked_subcommand is not None:
        return
    from importlib.resources import files

    from mashq.analysis.paper import paper as recomputed
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.text.paper import text

    figures: dict[str, Any] = json.loads(files("mashq.analysis").joinpath("paper_figures.json").read_text("utf-8"))
    document = recomputed(figures)
    click.echo(json_of(document) if as_json else text(document, form))


@paper.command(name="list")
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@json_option
def list_(form: Literal["table", "md", "latex"], as_json: bool) -> None:
    """Every table, figure and ablation: what it shows, and what it takes at full size.

    \b
    Example:
      mashq paper list
    """
    _plan((), form, as_json)


@paper.command()
@model_option
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@json_option
def plan(models: tuple[str, ...], form: Literal["table", "md", "latex"], as_json: bool) -> None:
    """What regenerating the paper costs: all experiments at full size, with its models or yours.

    \b
    Examples:
      mashq paper plan
      mashq paper plan --model openai/gpt-5-mini
    """
    _plan(models, form, as_json)


@paper.command()
@click.argument("name")
def config(name: str) -> None:
    """The configuration of the experiment NAME, to read or to save, with the command that plays it.

    \b
    Example:
      mashq paper config ablation_1 > ablation_1.yaml
    """
    from mashq.paper.experiments import experiment

    selected = experiment(name)
    if selected.of:
        raise ConfigError(f"{name} shows the matches of {' and '.join(selected.of)}: take the configuration of those")
    click.echo(f"# {selected.name} of the MAS-HQ paper: {selected.title}.\n# mashq {selected.options}")
    click.echo(selected.configuration, nl=False)


@paper.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--limit", type=click.IntRange(1), help="How many items to play; all by default.")
@click.option("--trials", type=click.IntRange(1), help="How many trials, where the experiment has several.")
@model_option
@click.option("--simulated", is_flag=True, help="Ask no model: draw players from what the paper prints of them.")
@click.option("--detector", metavar="NAME", help="Score with this detector instead of the paper's hhem.")
@click.option("--data", metavar="FILE", help="Your passages; the built-in ones by default.")
@click.option("--questions", metavar="FILE", help="Questions for simpleqa_results.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting, as in mashq run.")
@out_option
@format_option
@json_option
def play(
    names: tuple[str, ...],
    limit: int | None,
    trials: int | None,
    models: tuple[str, ...],
    simulated: bool,
    detector: str | None,
    data: str | None,
    questions: str | None,
    overrides: tuple[str, ...],
    out: Path,
    form: Form,
    as_json: bool,
) -> None:
    """Play experiments (all: every one) and print each beside the paper's figures.

    Each has a run of its own below --out; one that stopped is continued, and one that was played is only shown.

    \b
    Examples:
      mashq paper play all --simulated --limit 8
      mashq paper play ablation_1 --model local/smollm2-135m --detector grounding --limit 4
      mashq paper play main_results_1 --data passages.jsonl
    """
    from mashq.cli.playing import played
    from mashq.paper.documents import PaperTables
    from mashq.paper.experiments import named
    from mashq.paper.play import Choices, models_named
    from mashq.paper.play import play as play_one
    from mashq.paper.tables import table

    if simulated and (models or detector or data or questions or overrides):
        raise ConfigError("--simulated asks no model: leave out --model, --detector, --data, --questions and --set")
    choices = Choices(limit, trials, models_named(models), simulated, detector, data, questions, overrides)
    selected = named(names)
    tables = [table(entry, play_one(entry, out, choices, played)) for entry in selected]
    _print(PaperTables(experiments=tables), form, as_json)


@paper.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@out_option
@format_option
@json_option
def show(names: tuple[str, ...], out: Path, form: Form, as_json: bool) -> None:
    """Experiments as the paper prints them, beside ours where they were played below --out.

    \b
    Examples:
      mashq paper show best_of_n
      mashq paper show all --format html > paper.html
    """
    from mashq.paper.documents import PaperTables
    from mashq.paper.experiments import named
    from mashq.paper.play import played
    from mashq.paper.tables import table

    tables = [table(entry, played(entry, out)) for entry in named(names)]
    _print(PaperTables(experiments=tables), form, as_json)


def _plan(models: Sequence[str], form: Literal["table", "md", "latex"], as_json: bool) -> None:
    from mashq.paper.costs import plan as planned
    from mashq.paper.play import models_named
    from mashq.paper.shown import planned as text
    from mashq.report.documents.base import as_json as json_of

    document = planned(models_named(models))
    click.echo(json_of(document) if as_json else text(document, form))


def _print(document: "PaperTables", form: Form, as_json: bool) -> None:
    from mashq.paper.shown import html, text
    from mashq.report.documents.base import as_json as json_of

    if as_json:
        click.echo(json_of(document))
    else:
        click.echo(html(document) if form == "html" else text(document, form))
