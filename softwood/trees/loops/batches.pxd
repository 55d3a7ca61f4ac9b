@cython.locals(i=i64, j=i64, row=i64)
cdef void fill_batch(const f64[:, ::1] points, const i64[::1] order, i64 begin, i64 n, f64[:, ::1] batch) noexcept nogil

@cython.locals(d=i64, i=i64, j=i64, whole=i64)
cdef void fill_gate_inputs(const f64[:, ::1] batch, i64 n, const f64[:, ::1] gates, i64 node, f64[:, ::1] inputs, i64 row) noexcept nogil
