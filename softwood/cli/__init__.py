"""The command ``softwood``: a file for each verb, and what the verbs share.

Each verb has two functions: ``add`` describes its arguments, and ``run`` does its work. Only ``run`` imports what is
heavy, so that ``--help`` answers at once.
"""

from softwood.cli.main import main

__all__ = ["main"]
