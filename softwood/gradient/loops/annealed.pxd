cdef class AnnealedScratch:
    cdef f64[:, ::1] batch
    cdef f64[:, ::1] sides
    cdef f64[:, ::1] shares
    cdef f64[:, :, ::1] outputs
    cdef f64[:, ::1] by_output
    cdef f64[:, ::1] by_input


cdef class AnnealedDescent:
    cdef f64[:, ::1] first
    cdef f64[:, ::1] second
    cdef f64[:, ::1] value_first
    cdef f64[:, ::1] value_second
    cdef f64[:, ::1] by_gates
    cdef f64[:, ::1] by_values


@cython.locals(i=i64, n_inner=i64, node=i64, o=i64)
cdef void fill_mixtures(const f64[:, ::1] batch, i64 n, const f64[:, ::1] gates, const f64[:, ::1] values, f64 steepness, f64[:, ::1] sides, f64[:, ::1] shares, f64[:, :, ::1] outputs) noexcept nogil

@cython.locals(i=i64, o=i64, row=i64)
cdef f64 fill_output_gradient(Rows rows, const i64[::1] order, i64 begin, i64 n, const f64[:, :, ::1] outputs, f64[:, ::1] by_output) noexcept nogil

@cython.locals(i=i64, o=i64)
cdef void fill_input_gradient(i64 node, i64 n, f64 steepness, const f64[:, ::1] sides, const f64[:, ::1] shares, const f64[:, :, ::1] outputs, const f64[:, ::1] by_output, f64[:, ::1] by_input) noexcept nogil

@cython.locals(begin=i64, d=i64, leaf=i64, n=i64, n_inner=i64, node=i64, o=i64)
cdef i64 annealed_pass(Rows rows, const i64[::1] order, i64 size, f64[:, ::1] gates, f64[:, ::1] values, f64 steepness, f64 rate, f64 l1, f64 l2, i64 n_steps, AnnealedScratch scratch, AnnealedDescent descent) noexcept nogil
