import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

# few different values, so that ties are frequent
tables = st_numpy.arrays(
    np.float64,
    st.tuples(st.integers(2, 9), st.integers(2, 6)),
    elements=st.integers(0, 6).map(lambda i: i / 4),
)
