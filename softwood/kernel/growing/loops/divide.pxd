@cython.locals(k=i64)
cdef void place_points(const f64[:, ::1] points, i64 feature, const u32[::1] rows, i64 begin, i64 m, f64[::1] x) noexcept nogil

@cython.locals(by_cell=bint, feature=i64, i=i64, k=i64, shape=i64)
cdef void kernel_parts(const f64[:, ::1] points, Kernels kernels, const u32[::1] rows, i64 begin, i64 m, (i64, f64, f64) split, (f64, f64, f64) reach, f64[::1] parts) noexcept nogil

@cython.locals(feature=i64)
cdef void left_parts(Bins bins, const f64[::1] widths, Kernels kernels, const f64[:, ::1] intervals, const u32[:, ::1] subsets, i64 node, (i64, f64, f64) split, const u32[::1] rows, i64 begin, i64 m, f64[::1] parts) noexcept nogil

@cython.locals(k=i64)
cdef void part_shares(f64[::1] shares, i64 begin, i64 m, f64 cutoff, f64[::1] parts) noexcept nogil

@cython.locals(k=i64)
cdef bint are_heavy(const f64[:, ::1] targets, const u32[::1] rows, const f64[::1] shares, i64 begin, i64 m, const f64[::1] parts, f64 cutoff, f64 least) noexcept nogil

@cython.locals(i=i64, k=i64, n_left=i64, n_right=i64)
cdef (i64, i64) sort_out(u32[::1] rows, f64[::1] shares, i64 begin, i64 m, u32[::1] left_rows, f64[::1] left_shares) noexcept nogil

cdef f64 cutoff_for(const f64[:, ::1] targets, const u32[::1] rows, const f64[::1] shares, i64 begin, i64 m, const f64[::1] parts, Rules rules) noexcept nogil

cdef (i64, i64) share_out(u32[::1] rows, f64[::1] shares, i64 begin, i64 m, f64 cutoff, u32[::1] left_rows, f64[::1] left_shares) noexcept nogil
