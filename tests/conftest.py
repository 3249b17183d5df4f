"""Shared by all tests: no deadlines, because machines are noisy and a slow example is not a wrong one."""

from hypothesis import settings

settings.register_profile("mashq", deadline=None)
settings.load_profile("mashq")
