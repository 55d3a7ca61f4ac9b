"""Drift detectors for river."""

from __future__ import annotations

from softwood.core.estimators import documented
from softwood.stream.drift import ADWIN as _ADWIN
from softwood.stream.drift import DDM as _DDM
from softwood.stream.drift import PageHinkley as _PageHinkley
from softwood.stream.river.base import base


@documented
class ADWIN(_ADWIN, base.DriftDetector):
    """Adaptive windowing (Bifet and Gavaldà 2007): `softwood.stream.ADWIN` as a detector for river's ensembles."""


@documented
class PageHinkley(_PageHinkley, base.DriftDetector):
    """Test of Page and Hinkley (1954): `softwood.stream.PageHinkley` as a detector for river."""


@documented
class DDM(_DDM, base.BinaryDriftAndWarningDetector):
    """Drift detection method of Gama et al. (2004): `softwood.stream.DDM` as a detector for river."""
