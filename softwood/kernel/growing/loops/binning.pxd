cdef i64 part_of(f64 x, f64 low, f64 scale) noexcept nogil

@cython.locals(first=i64, half=i64, i=i64, k=i64, n_cuts=i64, part=i64, size=i64, starts="i64[::1]")
cdef void encode_column(const f64[:, ::1] points, i64 feature, const f64[::1] cuts, code[:, ::1] out) noexcept nogil
