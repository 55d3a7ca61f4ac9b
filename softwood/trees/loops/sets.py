"""Sets of categories: rows of bits in words of 32. A column of categories holds their numbers, 0, 1, ..."""

import numpy as np


def is_category(n_categories, j):
    """Whether a column holds categories; n_categories : (p,), or (0,) if no column does."""
    return n_categories.shape[0] > 0 and n_categories[j] > 0


def has_member(subsets, row, category):
    """Whether a category is in the set in a row of `subsets` (n, n_words)."""
    return (subsets[row, category >> 5] >> np.uint32(category & 31)) & np.uint32(1) != 0
