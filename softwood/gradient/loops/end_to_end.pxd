cdef class EndToEndRows:
    cdef const f64[:, ::1] points
    cdef const f64[:, ::1] likelihoods
    cdef const f64[::1] weights


cdef class EndToEndDescent:
    cdef f64[:, ::1] by_gates
    cdef f64[:, ::1] first
    cdef f64[:, ::1] second


@cython.locals(node=i64)
cdef inline void leaf_shares(const f64[:, ::1] points, i64 i, const f64[:, ::1] gates, i64 n_gates, f64 steepness, f64[::1] shares) noexcept nogil

@cython.locals(i=i64, leaf=i64, n_leaves=i64)
cdef f64 posteriors(const f64[:, ::1] points, const f64[:, ::1] likelihoods, const f64[:, ::1] gates, i64 n_gates, f64 steepness, f64[::1] shares, f64[:, ::1] out) noexcept nogil

@cython.locals(d=i64, i=i64, j=i64, k=i64, leaf=i64, node=i64)
cdef void add_posterior_gradient(EndToEndRows rows, const i64[::1] order, i64 begin, i64 end, const f64[:, ::1] gates, i64 n_gates, i64 first_gate, f64 steepness, f64[::1] shares, f64[::1] belongs, f64[:, ::1] by_gates) noexcept nogil

@cython.locals(begin=i64, end=i64, n=i64, node=i64)
cdef i64 maximise_pass(EndToEndRows rows, const i64[::1] order, i64 batch, f64[:, ::1] gates, i64 n_gates, i64 first_gate, f64 steepness, f64 rate, i64 n_steps, f64[::1] shares, f64[::1] belongs, EndToEndDescent descent) noexcept nogil
