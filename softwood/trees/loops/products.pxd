@cython.locals(j=i64, whole=i64)
cdef inline f64 dot(const f64[:, ::1] table, i64 i, const f64[::1] vector, i64 n) noexcept nogil

@cython.locals(j=i64, whole=i64)
cdef inline f64 dot_rows(const f64[:, ::1] one, i64 i, const f64[:, ::1] other, i64 k, i64 n) noexcept nogil
