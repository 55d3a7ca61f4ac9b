@cython.locals(d=i64, four=i64, i=i64, j=i64, one=i64, three=i64, two=i64, whole=i64)
cdef void fill_gate_gradient(const f64[:, ::1] points, const i64[::1] order, i64 begin, i64 n, const f64[:, ::1] by_inputs, i64 row, f64[:, ::1] by_gates, i64 node) noexcept nogil
