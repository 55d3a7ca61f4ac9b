cdef i64 lowest_bit(u64 word) noexcept nogil

@cython.locals(c=i64, k=i64, o=i64)
cdef void add_points(const code[:, ::1] codes, i64 feature, const u32[::1] rows, i64 begin, const f64[:, ::1] points, const i32[::1] labels, i64 first, i64 last, f64[:, :, ::1] tables, i64 slot) noexcept nogil

@cython.locals(c=i64, k=i64)
cdef void mark_points(const code[:, ::1] codes, i64 feature, const u32[::1] rows, i64 begin, i64 m, u64[::1] words, u64[::1] groups) noexcept nogil

@cython.locals(a=i64, c=i64, g=i64, group=u64, n=i64, o=i64, w=i64, word=u64)
cdef i64 take_atoms(f64[:, :, ::1] tables, i64 slot, u64[::1] words, u64[::1] groups, const f64[::1] values, i64 offset, i64 n_bins, i64 n_outputs, bint sparse, f64[:, ::1] atoms) noexcept nogil
