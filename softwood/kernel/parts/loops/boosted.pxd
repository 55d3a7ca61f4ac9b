cdef class BoostSpace:
    cdef f64[:, ::1] splits
    cdef f64[:, :, ::1] table
    cdef f64[:, ::1] found
    cdef f64[:, ::1] lines
    cdef f64[::1] keys
    cdef i64[:, ::1] ranks
    cdef u32[:, ::1] subsets


@cython.locals(c=i64, is_empty=bint, o=i64)
cdef void set_table(const i64[:, :, :, ::1] tables, i64 k, i64 f, const f64[::1] units, i64 n_lines, f64 total, f64[:, :, ::1] table, i64 j) noexcept nogil

@cython.locals(direction=i64, f=i64, interval="(f64, f64)", j=i64, k=i64, leaf=i64, limits="(f64, f64, i64)", n_lines=i64, split="(f64, f64)", total="(f64, f64, f64)")
cdef void choose_boosted(const i64[:, :, :, ::1] tables, const f64[::1] units, const i64[::1] numbers, Leaf[::1] leaves, Bins bins, Edges edges, const f64[:, :, ::1] bounds, const i64[::1] features, const i64[::1] directions, Rules rules, BoostSpace space) noexcept nogil
