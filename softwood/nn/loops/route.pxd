@cython.locals(a=i64, after=i64, b=i64, k=i64, m=i64, n_gates=i64, node=i64, r=i64)
cdef void share_block(const f32/f64[:, ::1] z, f64 gamma, i64 begin, i64 end, i64 first, LayerTrees trees, i64 t, f32/f64[:, ::1] shares) noexcept nogil

@cython.locals(begin=i64, end=i64, k=i64, leaf=i64, m=i64, n=i64, n_gates=i64, o=i64, r=i64, t=i64)
cdef void route_rows(const f32/f64[:, ::1] z, f64 gamma, const f32/f64[:, ::1] value, LayerTrees trees, f32/f64[:, ::1] shares, f32/f64[:, :, ::1] out) noexcept nogil

@cython.locals(k=i64, leaf=i64, m=i64, n_gates=i64, o=i64, r=i64)
cdef void leaf_slopes(i64 t, i64 begin, i64 end, const f64[:, ::1] value, LayerTrees trees, const f64[:, ::1] shares, const f64[:, :, ::1] slope, f64[:, ::1] alongs, f64[:, ::1] value_slope) noexcept nogil

@cython.locals(a=i64, after=i64, b=i64, k=i64, m=i64, n_gates=i64, node=i64, r=i64)
cdef void gate_slopes(const f64[:, ::1] z, f64 gamma, i64 begin, i64 end, i64 first, LayerTrees trees, i64 t, const f64[:, ::1] shares, f64[:, ::1] alongs, f64[:, ::1] z_slope) noexcept nogil

@cython.locals(begin=i64, end=i64, n=i64, t=i64)
cdef void route_slopes(const f64[:, ::1] z, f64 gamma, const f64[:, ::1] value, LayerTrees trees, f64[:, ::1] shares, f64[:, ::1] alongs, const f64[:, :, ::1] slope, f64[:, ::1] z_slope, f64[:, ::1] value_slope) noexcept nogil

