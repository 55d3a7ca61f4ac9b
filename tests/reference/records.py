"""Tables of records, column by column: numpy compares whole records, and one with a nan is equal to no other."""

import numpy as np


def assert_same_records(found, expected):
    """Equal to the last bit, nan equal to nan."""
    assert found.dtype == expected.dtype
    assert found.dtype.names
    for name in found.dtype.names:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def as_columns(records, names=None):
    """(n, n_columns) of floats; all columns if no names are given."""
    return np.column_stack([records[name].astype(float) for name in (names or records.dtype.names)])
