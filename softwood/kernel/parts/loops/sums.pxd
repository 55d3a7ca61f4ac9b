@cython.locals(g=f64, h=f64, i=i64, largest_g=f64, largest_h=f64, w=f64)
cdef (f64, f64) weigh_rows(const f64[::1] hessian, const f64[::1] gradient, const f64[::1] weights, const f64[::1] counts, const f64[::1] scales, bint is_whole, number[:, ::1] values) noexcept nogil

@cython.locals(i=i64, k=i64, o=i64)
cdef void gather_values(const u32[::1] rows, i64 first, i64 last, const f64[::1] shares, const number[:, ::1] values, i64[:, ::1] block) noexcept nogil

@cython.locals(c=i64, f=i64, i=i64, j=i64, k=i64)
cdef void add_classes(const code[:, ::1] codes, const u32[::1] rows, i64 first, i64 last, const i32[::1] labels, const i64[::1] features, i64[:, :, ::1] tables, const i64[:, ::1] block) noexcept nogil

@cython.locals(c=i64, f=i64, j=i64, k=i64, n_columns=i64, o=i64)
cdef void add_columns(const code[:, ::1] codes, const u32[::1] rows, i64 first, i64 last, const i64[::1] features, i64[:, :, ::1] tables, const i64[:, ::1] block) noexcept nogil

@cython.locals(first=i64, is_row_by_row=bint, last=i64, n_features=i64)
cdef void add_node(const code[:, ::1] codes, const u32[::1] rows, i64 begin, i64 end, const f64[::1] shares, const number[:, ::1] values, const i32[::1] labels, const i64[::1] features, i64[:, :, ::1] tables, i64[:, ::1] block) noexcept nogil

@cython.locals(end=i64, first=i64, k=i64, last=i64, node=i64, o=i64)
cdef void add_totals(const u32[::1] rows, const i64[::1] begins, const i64[::1] slots, const f64[::1] shares, const number[:, ::1] values, const i32[::1] labels, i64[:, ::1] totals, i64[:, ::1] block) noexcept nogil
