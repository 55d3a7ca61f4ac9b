@cython.locals(k=i64, other=i64, p=i64)
cdef void draw_features(i64[::1] order, const i64[::1] priority, u64 seed, i64 n_draw) noexcept nogil

@cython.locals(found=bint)
cdef bint is_by_cell(Kernels kernels, i64 j) noexcept nogil

@cython.locals(at_once=bint, best_feature=i64, end=i64, f=i64, first=i64, has_sums=bint, is_single=bint, j=i64, last=i64, n=i64, n_bins=i64, n_columns=i64, rare=i64, slot=i64, sparse=bint)
cdef (i64, f64, f64, f64) search_thresholds(Bins bins, const f64[::1] widths, Kernels kernels, const u32[::1] rows, i64 begin, i64 m, NodeScratch scratch, i64 n_draw, const f64[:, ::1] intervals, Goal goal, Search search) noexcept nogil
