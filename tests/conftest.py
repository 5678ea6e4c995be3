"""Property tests draw the same examples on every run, and a slow machine is no failure."""

from hypothesis import settings

settings.register_profile("tellapart", deadline=None, derandomize=True)
settings.load_profile("tellapart")
