"""Documents as readable text: tables and sentences for a terminal, Markdown and LaTeX."""
