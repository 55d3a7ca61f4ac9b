@cython.locals(k=i64)
cdef void copy_codes(const code[:, ::1] codes, i64 feature, const u32[::1] rows, i64 begin, i64 m, code[::1] node_codes) noexcept nogil

@cython.locals(high=code, k=i64, low=code)
cdef (i64, i64) code_range(const code[::1] node_codes, i64 m) noexcept nogil

@cython.locals(c=i64, highest=i64, k=i64)
cdef i64 highest_known(const code[::1] node_codes, i64 m, i64 n_bins) noexcept nogil

@cython.locals(k=i64, last=i64, n_bins=i64, offset=i64, shape=i64)
cdef (f64, f64, bint) kernel_support(const code[::1] node_codes, Bins bins, Kernels kernels, i64 feature, const u32[::1] rows, i64 begin, i64 m, f64 width, i64 lowest, i64 highest) noexcept nogil

@cython.locals(first=i64, half=i64, size=i64)
cdef f64 settle_crisp(f64 threshold, const f64[::1] values, const f64[::1] lows, const f64[::1] highs, i64 offset, i64 n_bins) noexcept nogil

@cython.locals(c=i64)
cdef void copy_values(const f64[::1] values, i64 offset, i64 n_bins, f64[::1] table) noexcept nogil

@cython.locals(k=i64)
cdef void look_up(const f64[::1] table, const code[::1] node_codes, i64 m, f64[::1] found) noexcept nogil

@cython.locals(c=i64, k=i64)
cdef void look_up_known(const f64[::1] values, i64 offset, i64 n_bins, const code[::1] node_codes, i64 m, f64[::1] found) noexcept nogil

@cython.locals(k=i64, n_bins=i64, offset=i64, shape=i64)
cdef void left_shares(const code[::1] node_codes, Bins bins, Kernels kernels, i64 feature, const u32[::1] rows, i64 begin, i64 m, f64 threshold, f64 width, (f64, f64) interval, f64[::1] shares) noexcept nogil

@cython.locals(current=i64, k=i64, label=i64, o=i64)
cdef f64 left_masses(const f64[:, ::1] points, const i32[::1] labels, i64 m, const f64[::1] shares, i64 n_outputs, f64[:, ::1] work) noexcept nogil

@cython.locals(k=i64, o=i64)
cdef f64 left_sums(const f64[:, ::1] points, i64 m, const f64[::1] shares, i64 n_outputs, f64[:, ::1] work) noexcept nogil

@cython.locals(k=i64, whole=i64)
cdef (f64, f64) left_pair(const f64[:, ::1] points, i64 m, const f64[::1] shares) noexcept nogil

@cython.locals(k=i64)
cdef void share_missing(const f64[:, ::1] points, i64 m, f64[::1] shares) noexcept nogil

@cython.locals(at=i64, c=i64, k=i64, n=i64, n_left=i64)
cdef bint draw_set(const code[::1] node_codes, i64 m, i64 n_bins, u64 seed, f64[::1] table) noexcept nogil

@cython.locals(c=i64)
cdef void keep_drawn(const f64[::1] table, Bins bins, i64 j, bint absent_left, i64[::1] ranks, u32[:, ::1] subset) noexcept nogil

@cython.locals(best_feature=i64, by_set=bint, crisp=bint, draw=u64, f=i64, has_missing=bint, highest=i64, interval="(f64, f64)", is_one=bint, j=i64, lowest=i64, n_bins=i64, n_features=i64, n_outputs=i64, n_tried=i64, o=i64, offset=i64)
cdef (i64, f64, f64, f64) search_random(Bins bins, const f64[::1] widths, Kernels kernels, const u32[::1] rows, i64 begin, i64 m, NodeScratch scratch, i64 n_draw, const f64[:, ::1] intervals, Goal goal, u64 seed, RandomSearch random) noexcept nogil
