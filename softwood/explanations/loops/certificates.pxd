cdef class Trees:
    cdef const i32[::1] left
    cdef const i32[::1] right
    cdef const i32[::1] parent
    cdef const i8[::1] gate
    cdef const i32[::1] feature
    cdef const f64[::1] threshold
    cdef const f64[::1] missing_left
    cdef const f64[::1] width
    cdef const f64[::1] blend
    cdef const f64[::1] bias
    cdef const i32[::1] kernel
    cdef const f64[:, ::1] edges
    cdef const f64[:, ::1] cdfs
    cdef const f64[:, ::1] value
    cdef const i64[::1] offsets
    cdef const u32[:, ::1] subsets


cdef class Room:
    cdef i64[::1] nodes
    cdef i64[::1] stack
    cdef f64[:, ::1] parts
    cdef f64[:, ::1] masses
    cdef f64[:, :, ::1] bounds
    cdef f64[:, ::1] found
    cdef f64[:, :, ::1] kept
    cdef f64[:, ::1] total
    cdef f64[:, ::1] box
    cdef f64[::1] delta


cdef class Ensemble:
    cdef const i64[::1] output
    cdef const f64[::1] base
    cdef f64 factor
    cdef bint is_softmax
    cdef const u8[:, ::1] is_box
    cdef const f64[:, ::1] rates
    cdef const f64[::1] fill
    cdef f64 slack


@cython.locals(above=i64, child=i64, j=i64)
cdef (f64, f64) kernel_parts(i64 node, i64 begin, Trees trees, const f64[:, ::1] masses, bint is_box) noexcept nogil

@cython.locals(is_moved=bint, j=i64, largest=f64, size=f64, smallest=f64)
cdef (f64, f64) oblique_sums(const f64[:, ::1] box, const f64[:, ::1] weights, i64 node, f64 bias, const f64[::1] fill) noexcept nogil

cdef (f64, f64) oblique_parts(i64 kind, f64 smallest, f64 largest, f64 width, f64 blend, f64 test_low, f64 test_high) noexcept nogil

@cython.locals(at=i64, k=i64, node=i64, one=i64, other=i64, t=i64)
cdef void mix_bounds(i64 n, i64 begin, Trees trees, Room room) noexcept nogil

@cython.locals(at=i64, begin=i64, height=i64, j=i64, k=i64, kind=i64, n=i64, node=i64, q=i64, shape=i64)
cdef void walk_box(i64 number, Trees trees, Ensemble model, const f64[:, ::1] weights, i64 label, Room room) noexcept nogil

@cython.locals(j=i64)
cdef f64 moved_mass(i64 number, const f64[::1] delta, const f64[:, ::1] rates, bint is_ball) noexcept nogil

@cython.locals(k=i64)
cdef void tree_bounds(i64 number, bint is_ball, Trees trees, Ensemble model, const f64[:, ::1] weights, i64 label, const f64[:, ::1] centre, Room room) noexcept nogil

@cython.locals(k=i64, o=i64, q=i64)
cdef void softmax_bounds(f64[:, ::1] found, i64 label) noexcept nogil

@cython.locals(j=i64)
cdef void set_box(const f64[::1] x, const f64[::1] delta, f64 scale, i64 only, Room room) noexcept nogil

@cython.locals(K=i64, is_lead=bint, k=i64, number=i64, o=i64, other=i64, own=i64, q=i64)
cdef void total_bounds(bint is_ball, Trees trees, Ensemble model, const f64[:, ::1] weights, i64 label, const f64[:, ::1] centre, i64 only, Room room) noexcept nogil

@cython.locals(is_ahead=bint, k=i64, n=i64)
cdef bint leads(const f64[:, ::1] total, i64 label, f64 slack) noexcept nogil

cdef (f64, f64, f64) next_scale(f64 scale, f64 low, f64 high, bint is_certain) noexcept nogil

@cython.locals(i=i64, k=i64)
cdef void bound_rows(const f64[:, ::1] points, const f64[:, ::1] deltas, bint is_ball, const i64[::1] labels, const f64[:, :, ::1] centres, Trees trees, Ensemble model, const f64[:, ::1] weights, Room room, f64[:, :, ::1] out) noexcept nogil

@cython.locals(i=i64, is_certain=bint, is_sure=bint, is_tried=bint, k=i64, moving=i64, only=i64)
cdef void search_rows(const f64[:, ::1] points, const f64[:, ::1] deltas, bint is_ball, const i64[::1] labels, const f64[:, :, ::1] centres, Trees trees, Ensemble model, const f64[:, ::1] weights, Room room, f64[:, ::1] out) noexcept nogil
