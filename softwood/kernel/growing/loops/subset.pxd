@cython.locals(entry=i64, gap=i64, k=i64, other=i64, place=i64)
cdef void sort_by_key(f64[::1] keys, i64[::1] order, i64 n) noexcept nogil

@cython.locals(at=i64, category=i64, n_bins=i64, offset=i64, rank=i64, w=i64)
cdef void set_members(const i64[::1] ranks, Bins bins, i64 j, i64 last, bint absent_left, u32[:, ::1] subsets, i64 line) noexcept nogil

@cython.locals(k=i64)
cdef f64 rare_below(const f64[:, ::1] masses, i64 column, i64 n, f64 least) noexcept nogil

@cython.locals(a=i64, c=i64, kept=i64, n_rare=i64, o=i64)
cdef (i64, i64) merge_rare(f64[:, ::1] atoms, i64 n, i64 n_outputs, f64 least, i64 offset, i64[::1] ranks, f64[:, ::1] work) noexcept nogil

@cython.locals(a=i64, o=i64, step=i64)
cdef void order_keys(const f64[:, ::1] atoms, i64 n, i64 n_outputs, f64 total, f64[:, ::1] work, f64[:, ::1] means, f64[::1] keys) noexcept nogil

@cython.locals(a=i64, best_last=i64, o=i64, r=i64)
cdef (f64, i64, f64) scan_subset(const f64[:, ::1] atoms, i64 n, i64 n_outputs, f64[:, ::1] work, const i64[::1] order, Goal goal) noexcept nogil

@cython.locals(a=i64, c=i64, last=i64, n_bins=i64, offset=i64, r=i64, rare=i64)
cdef (f64, i64, f64, i64) scan_category(f64[:, ::1] atoms, i64 n, i64 n_outputs, f64[:, ::1] work, Bins bins, i64 j, Goal goal, SubsetSpace space) noexcept nogil

@cython.locals(c=i64, k=i64, n_bins=i64, offset=i64)
cdef void subset_parts(const code[:, ::1] codes, Bins bins, i64 feature, const u32[:, ::1] subsets, i64 line, f64 missing_left, const u32[::1] rows, i64 begin, i64 m, f64[::1] parts) noexcept nogil
