cdef class EndToEndRows:
    cdef const f64[:, ::1] points
    cdef const f64[:, ::1] likelihoods
    cdef const f64[::1] weights


cdef class EndToEndScratch:
    cdef f64[:, ::1] batch
    cdef f64[:, ::1] sides
    cdef f64[:, ::1] shares
    cdef f64[:, ::1] belongs
    cdef f64[::1] factors


cdef class EndToEndDescent:
    cdef f64[:, ::1] by_gates
    cdef f64[:, ::1] first
    cdef f64[:, ::1] second


@cython.locals(i=i64, node=i64)
cdef void leaf_shares(const f64[:, ::1] batch, i64 n, const f64[:, ::1] gates, i64 n_gates, f64 steepness, f64[:, ::1] sides, f64[:, ::1] shares) noexcept nogil

@cython.locals(begin=i64, i=i64, leaf=i64, n=i64, n_leaves=i64, size=i64)
cdef f64 posteriors(const f64[:, ::1] points, const f64[:, ::1] likelihoods, const f64[:, ::1] gates, i64 n_gates, f64 steepness, EndToEndScratch scratch, f64[:, ::1] out) noexcept nogil

@cython.locals(i=i64, leaf=i64, node=i64, row=i64)
cdef void fill_posterior_gradient(EndToEndRows rows, const i64[::1] order, i64 begin, i64 n, const f64[:, ::1] gates, i64 n_gates, i64 first_gate, f64 steepness, EndToEndScratch scratch, f64[:, ::1] by_gates) noexcept nogil

@cython.locals(begin=i64, n=i64, node=i64, size=i64)
cdef i64 maximise_pass(EndToEndRows rows, const i64[::1] order, f64[:, ::1] gates, i64 n_gates, i64 first_gate, f64 steepness, f64 rate, i64 n_steps, EndToEndScratch scratch, EndToEndDescent descent) noexcept nogil
