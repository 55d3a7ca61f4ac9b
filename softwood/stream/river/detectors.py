"""Drift detectors for river."""

from __future__ import annotations

from softwood.stream.drift import ADWIN as _ADWIN
from softwood.stream.drift import DDM as _DDM
from softwood.stream.drift import PageHinkley as _PageHinkley
from softwood.stream.river.base import base

__all__ = ["ADWIN", "DDM", "PageHinkley"]


class ADWIN(_ADWIN, base.DriftDetector):
    """`softwood.stream.ADWIN` as a detector of river's, for its ensembles."""


class PageHinkley(_PageHinkley, base.DriftDetector):
    """`softwood.stream.PageHinkley` as a detector of river's."""


class DDM(_DDM, base.BinaryDriftAndWarningDetector):
    """`softwood.stream.DDM` as a detector of river's."""
