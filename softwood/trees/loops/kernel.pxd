@cython.locals(k=i64)
cdef f64 kernel_cdf(f64 t, f64 x, f64 width, i64 shape, const f64[:, ::1] edges, const f64[:, ::1] cdfs) noexcept nogil

@cython.locals(k=i64)
cdef f64 kernel_density(f64 t, f64 x, f64 width, i64 shape, const f64[:, ::1] edges, const f64[:, ::1] cdfs) noexcept nogil

cdef f64 kernel_share(f64 t, f64 x, f64 width, i64 shape, const f64[:, ::1] edges, const f64[:, ::1] cdfs, f64 lower, f64 upper) noexcept nogil

cdef f64 box_share(f64 t, f64 x, f64 width, f64 lo, f64 hi) noexcept nogil

@cython.locals(is_missing=bint, k=i64)
cdef void box_shares(f64[::1] x, i64 n, f64 t, f64 width, (f64, f64) interval, f64 missing) noexcept nogil

