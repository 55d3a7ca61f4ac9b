cdef class LevelNodes:
    cdef const Node[::1] lines
    cdef const f64[:, ::1] sums
    cdef const f64[:, :, ::1] bounds
    cdef const u64[::1] seeds


cdef Goal node_goal(LevelNodes nodes, i64 number, i64 criterion, Rules rules) noexcept nogil

@cython.locals(c=i64, is_empty=bint, n_bins=i64, o=i64, offset=i64)
cdef i64 atoms_of(const i64[:, :, :, ::1] tables, const f64[::1] units, i64 k, i64 f, Bins bins, i64 j, f64 total, i64 n_columns, Search search) noexcept nogil

@cython.locals(best_feature=i64, crisp=bint, f=i64, has_sums=bint, is_single=bint, j=i64, k=i64, kind=i64, n=i64, n_columns=i64, nearer_halves=bint, node=i64)
cdef void choose_searched(const i64[:, :, :, ::1] tables, const f64[::1] units, const i64[:, ::1] features, const i64[::1] numbers, LevelNodes nodes, Bins bins, const f64[::1] widths, Kernels kernels, Rules rules, i64 criterion, Search search, f64[:, ::1] out) noexcept nogil

@cython.locals(a=i64, o=i64)
cdef f64 left_of(const f64[:, ::1] atoms, i64 n, i64 j, f64 threshold, f64 width, (f64, f64) interval, Kernels kernels, i64 n_outputs, f64[:, ::1] work) noexcept nogil

@cython.locals(kind=i64, last=i64)
cdef f64 random_threshold(const f64[:, ::1] atoms, i64 n, i64 j, f64 width, (f64, f64) interval, Kernels kernels, f64 part) noexcept nogil

@cython.locals(best_feature=i64, crisp=bint, f=i64, interval="(f64, f64)", j=i64, k=i64, n=i64, n_features=i64, n_outputs=i64, n_tried=i64, node=i64, o=i64, offset=i64)
cdef void choose_random(const i64[:, :, :, ::1] tables, const f64[::1] units, const i64[:, ::1] features, const i64[::1] numbers, LevelNodes nodes, Bins bins, const f64[::1] widths, Kernels kernels, Rules rules, i64 criterion, Search search, f64[:, ::1] out) noexcept nogil
