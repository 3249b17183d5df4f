"""`python -m mashq`."""

from mashq.cli import main

main()
