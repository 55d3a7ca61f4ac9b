cdef class LevelNodes:
    cdef const Node[::1] lines
    cdef const f64[:, ::1] sums
    cdef const f64[:, :, ::1] bounds
    cdef const u64[::1] seeds
    cdef u32[:, ::1] subsets
    cdef const i64[::1] n_seen


cdef i64 first_new(i64 n_seen, const i64[:, ::1] features, i64 n_features) noexcept nogil

cdef Goal node_goal(LevelNodes nodes, i64 number, i64 criterion, Rules rules) noexcept nogil

@cython.locals(c=i64, is_empty=bint, n_bins=i64, o=i64, offset=i64)
cdef i64 atoms_of(const i64[:, :, :, ::1] tables, const f64[::1] units, i64 k, i64 f, Bins bins, i64 j, f64 total, i64 n_columns, Search search) noexcept nogil

cdef f64 width_of(Kernels kernels, i64 j, i64 c, f64 width) noexcept nogil

@cython.locals(a=i64, at=i64, shape=i64)
cdef (f64, f64, f64) scan_bins(Bins bins, Kernels kernels, i64 j, i64 n, (f64, f64) interval, Goal goal, Search search) noexcept nogil

@cython.locals(best_feature=i64, f=i64, has_sums=bint, interval="(f64, f64)", is_single=bint, j=i64, k=i64, last=i64, n=i64, n_columns=i64, n_seen=i64, node=i64, rare=i64)
cdef void choose_searched(const i64[:, :, :, ::1] tables, const f64[::1] units, const i64[:, ::1] features, const i64[::1] numbers, LevelNodes nodes, Bins bins, const f64[::1] widths, Kernels kernels, Rules rules, i64 criterion, Search search, f64[:, ::1] out) noexcept nogil

@cython.locals(a=i64)
cdef void place_parts(const f64[:, ::1] atoms, i64 n, Bins bins, i64 j, f64 threshold, f64 width, (f64, f64) interval, Kernels kernels, f64[:, ::1] lines) noexcept nogil

@cython.locals(a=i64, at=i64, n_left=i64)
cdef void draw_parts(const f64[:, ::1] atoms, i64 n, i64 offset, u64 seed, f64[:, ::1] lines) noexcept nogil

@cython.locals(a=i64, c=i64, offset=i64)
cdef void keep_drawn_parts(const f64[:, ::1] atoms, i64 n, Bins bins, i64 j, bint absent_left, Search search, u32[:, ::1] subsets, i64 line) noexcept nogil

@cython.locals(a=i64, o=i64)
cdef f64 left_of(const f64[:, ::1] atoms, i64 n, const f64[:, ::1] lines, i64 n_outputs, f64[:, ::1] work) noexcept nogil

@cython.locals(a=i64, is_one=bint, kind=i64, last=i64)
cdef f64 random_threshold(const f64[:, ::1] atoms, i64 n, Bins bins, i64 j, f64 width, (f64, f64) interval, Kernels kernels, f64 part) noexcept nogil

@cython.locals(absent_left=bint, best_feature=i64, by_set=bint, crisp=bint, draw=u64, f=i64, interval="(f64, f64)", j=i64, k=i64, n=i64, n_features=i64, n_outputs=i64, n_seen=i64, n_tried=i64, node=i64, o=i64, offset=i64)
cdef void choose_random(const i64[:, :, :, ::1] tables, const f64[::1] units, const i64[:, ::1] features, const i64[::1] numbers, LevelNodes nodes, Bins bins, const f64[::1] widths, Kernels kernels, Rules rules, i64 criterion, Search search, f64[:, ::1] out) noexcept nogil
