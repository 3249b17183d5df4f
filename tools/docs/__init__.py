"""The documentation site: `python -m tools.docs` adds the pages generated from the code to docs/ and builds it."""
