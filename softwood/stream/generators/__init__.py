"""Generators of streams with drift: the usual ones of the field, made in blocks of arrays."""

from softwood.stream.generators.agrawal import Agrawal
from softwood.stream.generators.base import Stream
from softwood.stream.generators.hyperplane import Hyperplane
from softwood.stream.generators.led import LED
from softwood.stream.generators.oversampled import OversampledClasses
from softwood.stream.generators.random_rbf import RandomRBF
from softwood.stream.generators.sea import SEA

__all__ = ["LED", "SEA", "Agrawal", "Hyperplane", "OversampledClasses", "RandomRBF", "Stream"]
