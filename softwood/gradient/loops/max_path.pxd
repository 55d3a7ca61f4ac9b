cdef class MaxPathScratch:
    cdef f64[:, ::1] batch
    cdef f64[:, ::1] inputs
    cdef f64[:, ::1] by_inputs
    cdef f32[:, :, ::1] sides
    cdef f64[:, :, :, ::1] best
    cdef f64[::1] shares


cdef class MaxPathDescent:
    cdef f64[:, ::1] first
    cdef f64[:, ::1] second
    cdef i64[::1] steps
    cdef f64[:, ::1] by_gates


@cython.locals(k=i64, largest=i64, left=i64, n_nodes=i64, node=i64, other=i64, q=i64, right=i64, s=i64, same=i64, weaker=i64)
cdef void fill_logits(const f64[:, ::1] values, const i64[::1] splits, const i64[::1] place, bint is_pure, f64[:, ::1] logits) noexcept nogil

@cython.locals(above=i64, child=i64, i=i64, k=i64, level=i64, node=i64, q=i64, s=i64, side=i64)
cdef void fill_best(const f64[:, ::1] inputs, i64 n, const i64[::1] splits, const i64[::1] place, const f64[:, ::1] logits, f64[:, :, :, ::1] best, f32[:, :, ::1] sides) noexcept nogil

@cython.locals(i=i64, k=i64, node=i64, q=i64, row=i64, s=i64)
cdef f64 fill_path_gradient(Rows rows, const i64[::1] order, i64 begin, i64 n, f64 unit, const i64[::1] splits, const i64[::1] place, MaxPathScratch scratch) noexcept nogil

@cython.locals(begin=i64, d=i64, j=i64, n=i64, node=i64, s=i64)
cdef f64 max_path_pass(Rows rows, const i64[::1] order, i64 size, f64[:, ::1] gates, const i64[::1] splits, const i64[::1] place, const f64[:, ::1] logits, f64 rate, f64 l2, MaxPathScratch scratch, MaxPathDescent descent) noexcept nogil
