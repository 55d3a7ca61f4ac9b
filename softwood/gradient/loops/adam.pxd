cdef struct AdamStep:
    f64 rate
    f64 factor_1
    f64 factor_2


cdef inline AdamStep adam_step(i64 number, f64 rate) noexcept nogil

@cython.locals(j=i64)
cdef void adam_row(f64[:, ::1] table, f64[:, ::1] gradients, f64[:, ::1] first, f64[:, ::1] second, i64 k, AdamStep step, i64 n_penalised, f64 l1, f64 l2) noexcept nogil
