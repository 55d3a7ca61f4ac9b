cdef u64 mix_bits(u64 z) noexcept nogil

@cython.locals(cell=u64, chain=u64, i=i64, j=i64)
cdef void key_rows(const f64[:, ::1] matrix, const u64[:, ::1] bits, u64 seed, u64[::1] out) noexcept nogil

@cython.locals(i=i64, j=i64)
cdef void add_moments(const f64[:, ::1] matrix, const f64[::1] weights, const f64[::1] middle, const f64[::1] half, const f64[::1] scales, i64[:, ::1] out) noexcept nogil

