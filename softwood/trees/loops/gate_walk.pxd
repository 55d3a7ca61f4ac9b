@cython.locals(first=real, fourth=real, j=i64, p=i64, second=real, third=real)
cdef inline real project(const real[:, ::1] weights, i64 node, const real[:, ::1] points, i64 i) noexcept nogil

@cython.locals(j=i64, total=real)
cdef inline real project_known(const real[:, ::1] weights, i64 node, const real[:, ::1] points, i64 i) noexcept nogil

cdef inline f64 half_width(i64 i, i64 node, LayerTrees trees, const real[:, ::1] numbers, const real[:, ::1] cells) noexcept nogil

@cython.locals(k=i64, lower=i64, shape=i64, upper=i64)
cdef inline f64 kernel_part(f64 x, f64 width, i64 node, i64 first, LayerTrees trees, const real[:, ::1] numbers, real[:, ::1] room) noexcept nogil

cdef inline (f64, f64) oblique_part(i64 kind, f64 z, f64 width) noexcept nogil

@cython.locals(a=i64, at=i64, b=i64, k=i64, kind=i64, n=i64, node=i64)
cdef i64 reach_gates(const real[:, ::1] points, i64 i, i64 first, LayerTrees trees, const real[:, ::1] weights, const real[:, ::1] numbers, const real[:, ::1] cells, i64[::1] nodes, real[:, ::1] room) noexcept nogil

@cython.locals(i=i64, t=i64, total=i64, no_cells="const real[:, ::1]")
cdef i64 count_reached(const real[:, ::1] points, LayerTrees trees, const real[:, ::1] weights, const real[:, ::1] numbers, i64[::1] nodes, real[:, ::1] room) noexcept nogil

@cython.locals(at=i64, first=i64, i=i64, n=i64, node=i64, t=i64, no_cells="const real[:, ::1]")
cdef void mark_reached(const real[:, ::1] points, LayerTrees trees, const real[:, ::1] weights, const real[:, ::1] numbers, i64[::1] nodes, real[:, ::1] room, u8[::1] moved_gates, u8[::1] reached_leaves) noexcept nogil

@cython.locals(a=i64, at=i64, b=i64, first=i64, i=i64, n=i64, node=i64, o=i64, q=i64, t=i64, no_cells="const real[:, ::1]")
cdef void walk_rows(const real[:, ::1] points, LayerTrees trees, const real[:, ::1] weights, const real[:, ::1] numbers, const real[:, ::1] value, i64[::1] nodes, real[:, ::1] room, real[:, :, ::1] out) noexcept nogil

@cython.locals(o=i64)
cdef f64 leaf_along(i64 i, i64 t, f64 share, i64 leaf, const real[:, ::1] value, const real[:, :, ::1] slope, real[:, ::1] by_value) noexcept nogil

@cython.locals(k=i64, lower=i64, upper=i64)
cdef f64 pass_on(f64 by_part, i64 node, i64 first, const i64[:, ::1] table, real[:, ::1] room) noexcept nogil

@cython.locals(j=i64, shape=i64)
cdef void add_kernel_slopes(f64 by_mass, const real[:, ::1] points, i64 i, i64 node, f64 width, LayerTrees trees, const real[:, ::1] numbers, real[:, ::1] by_points, real[:, ::1] by_numbers) noexcept nogil

@cython.locals(j=i64, scale=real, zero=real)
cdef void add_multiple(f64 factor, const real[:, ::1] source, i64 k, real[:, ::1] target, i64 i) noexcept nogil

@cython.locals(a=i64, at=i64, b=i64, first=i64, i=i64, k=i64, n=i64, node=i64, t=i64, with_gates=bint, with_points=bint, no_cells="const real[:, ::1]")
cdef void walk_slopes(const real[:, ::1] points, LayerTrees trees, const real[:, ::1] weights, const real[:, ::1] numbers, const real[:, ::1] value, i64[::1] nodes, real[:, ::1] room, const real[:, :, ::1] slope, real[:, ::1] by_points, real[:, ::1] by_weights, real[:, ::1] by_numbers, real[:, ::1] by_value) noexcept nogil
