"""Thresholds between neighbouring points."""


def middle_of(low, high):
    """Middle of a gap, never rounded up to its right end, whose point would change sides."""
    middle = low + 0.5 * (high - low)
    return low if middle >= high else middle
