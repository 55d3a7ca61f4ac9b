@cython.locals(i=i64, node=i64, one=i64, other=i64)
cdef void share_rows(const f64[:, ::1] batch, i64 n, const i32[::1] left, const i32[::1] right, const f64[:, ::1] gates, f64 least, f64[:, ::1] shares, f64[:, ::1] sides) noexcept nogil

@cython.locals(begin=i64, i=i64, n=i64, node=i64, o=i64, q=i64)
cdef void predict_sigmoid(const f64[:, ::1] points, const i32[::1] left, const i32[::1] right, const f64[:, ::1] gates, const f64[:, ::1] values, bint is_softmax, f64[:, ::1] batch, f64[:, ::1] shares, f64[:, ::1] sides, f64[:, ::1] out) noexcept nogil
