@cython.locals(j=i64)
cdef void adam_line(f64[:, ::1] lines, f64[:, ::1] gradients, f64[:, ::1] first, f64[:, ::1] second, i64 k, i64 step, f64 rate, i64 n_penalised, f64 l1, f64 l2) noexcept nogil
