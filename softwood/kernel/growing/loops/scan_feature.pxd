@cython.locals(crisp=bint, kind=i64, last=i64, rare=i64)
cdef (f64, f64, f64, i64, i64, bint) scan_feature(Bins bins, const f64[::1] widths, Kernels kernels, i64 j, i64 n, (f64, f64) interval, Goal goal, i64 n_columns, bint has_sums, Search search) noexcept nogil

@cython.locals(is_worth_it=bint)
cdef bint is_better(f64 merit, f64 left_mass, f64 best, f64 best_mass, bint crisp, Goal goal) noexcept nogil

@cython.locals(absent_left=bint)
cdef void keep_subset(Bins bins, i64 j, i64 last, i64 rare, f64 left_mass, f64 total, Search search, u32[:, ::1] subsets, i64 line) noexcept nogil
