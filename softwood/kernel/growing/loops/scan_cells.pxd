@cython.locals(is_step=bint, k=i64, row=i64)
cdef void place_boxes(Bins bins, Kernels kernels, i64 feature, const u32[::1] rows, i64 begin, i64 m, (f64, f64) interval, f64[:, ::1] cells) noexcept nogil

@cython.locals(a=i64, is_missing=bint, k=i64, n=i64, o=i64, place=i64, row=i64)
cdef (i64, i64, f64) sort_boxes(f64[:, ::1] cells, i64 m, const f64[:, ::1] points, const i32[::1] labels, i64 n_outputs, Knots knots, f64[:, ::1] work) noexcept nogil

@cython.locals(a=i64, begun=i64, ended=i64, is_start=bint, o=i64, q=i64)
cdef (f64, f64, f64) scan_boxes(i64 n, i64 ends, f64 total, (f64, f64) interval, Goal goal, Knots knots, f64[:, ::1] work) noexcept nogil

@cython.locals(ends=i64, n=i64)
cdef (f64, f64, f64) scan_column(Bins bins, Kernels kernels, i64 feature, const u32[::1] rows, i64 begin, i64 m, NodeScratch scratch, (f64, f64) interval, Goal goal, Search search) noexcept nogil
