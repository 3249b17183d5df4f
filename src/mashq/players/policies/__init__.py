"""Policies: who decides whether to continue, review or end."""
