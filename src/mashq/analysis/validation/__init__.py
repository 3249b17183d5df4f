"""A detector beside human ratings."""
