@cython.locals(a=i64, after=i64, b=i64, cubic=real, half=real, inverse=real, k=i64, linear=real, m=i64, n_gates=i64, node=i64, one=real, r=i64)
cdef void share_block(const real[:, ::1] z, real gamma, i64 begin, i64 end, i64 first, LayerTrees trees, i64 t, real[:, ::1] shares) noexcept nogil

@cython.locals(begin=i64, end=i64, four=i64, k=i64, leaf=i64, m=i64, n=i64, n_gates=i64, n_leaves=i64, o=i64, r=i64, rest=i64, t=i64)
cdef void route_rows(const real[:, ::1] z, real gamma, const real[:, ::1] value, LayerTrees trees, real[:, ::1] shares, real[:, :, ::1] out) noexcept nogil

@cython.locals(k=i64, leaf=i64, m=i64, n_gates=i64, o=i64, q=i64, r=i64, s0=real, s1=real, s2=real, s3=real, s4=real, s5=real, s6=real, s7=real)
cdef void leaf_slopes(i64 t, i64 begin, i64 end, const real[:, ::1] value, LayerTrees trees, const real[:, ::1] shares, const real[:, :, ::1] slope, real[:, ::1] alongs, real[:, ::1] value_slope) noexcept nogil

@cython.locals(a=i64, after=i64, b=i64, cubic=real, half=real, inverse=real, k=i64, linear=real, m=i64, n_gates=i64, node=i64, one=real, r=i64, square=real)
cdef void gate_slopes(const real[:, ::1] z, real gamma, i64 begin, i64 end, i64 first, LayerTrees trees, i64 t, const real[:, ::1] shares, real[:, ::1] alongs, real[:, ::1] z_slope) noexcept nogil

@cython.locals(begin=i64, end=i64, n=i64, t=i64)
cdef void route_slopes(const real[:, ::1] z, real gamma, const real[:, ::1] value, LayerTrees trees, real[:, ::1] shares, real[:, ::1] alongs, const real[:, :, ::1] slope, real[:, ::1] z_slope, real[:, ::1] value_slope) noexcept nogil
