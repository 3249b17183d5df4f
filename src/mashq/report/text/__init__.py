"""Documents as a person reads them: tables and sentences for a terminal, Markdown and LaTeX."""
