"""What the commands print with `--json`: one typed, versioned document per kind."""
