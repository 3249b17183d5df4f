"""Groups of commands: whole sentences in their help, and a guess at a mistyped command."""

import click

from mashq.errors import nearest


class Group(click.Group):
    """A group that lists its commands in order of definition, each with its whole first sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in order of definition."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands."""
        self.format_section(formatter, "Commands", self.list_commands(ctx))

    def format_section(
        self, formatter: click.HelpFormatter, title: str, names: "list[str] | tuple[str, ...]"
    ) -> None:
        """List some of the commands under a title."""
        width = max(map(len, self.commands))
        with formatter.section(title):
            formatter.write_dl([(f"{name:<{width}}", self.commands[name].get_short_help_str(1000)) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named; a name that is unknown is told the nearest."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}{nearest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)
