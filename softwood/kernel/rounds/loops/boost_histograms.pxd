@cython.locals(i=i64, k=i64, o=i64)
cdef void gather_rows(const u32[::1] rows, i64 begin, i64 first, i64 last, const f64[::1] shares, const f64[:, ::1] rows_sums, f64[:, ::1] block) noexcept nogil

@cython.locals(f=i64, first=i64, i=i64, is_row_by_row=bint, j0=i64, j1=i64, j2=i64, j3=i64, k=i64, last=i64, size=i64)
cdef void add_histograms(const code[:, ::1] codes, const u32[::1] rows, i64 begin, i64 m, const f64[::1] shares, const f64[:, ::1] rows_sums, const i64[::1] features, i64 f0, i64 f1, f64[:, :, ::1] table, f64[:, ::1] block) noexcept nogil

@cython.locals(c=i64, o=i64)
cdef void clear_histogram(f64[:, :, ::1] table, i64 j, i64 n_lines) noexcept nogil

@cython.locals(c=i64, o=i64)
cdef void add_histogram(f64[:, :, ::1] table, const f64[:, :, ::1] part, i64 j, i64 n_lines) noexcept nogil

@cython.locals(c=i64, o=i64)
cdef void subtract_histogram(f64[:, :, ::1] table, const f64[:, :, ::1] part, i64 j, i64 n_lines) noexcept nogil
