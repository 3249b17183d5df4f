"""What the commands print with `--json`: one typed, versioned document a kind."""
