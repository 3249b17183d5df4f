"""The documentation as a site: `python -m tools.docs` adds what is generated from the code to docs/ and builds it."""
