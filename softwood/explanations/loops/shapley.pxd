cdef packed struct Step:
    i64 stop
    i64 parent
    i64 player
    i64 last_feature
    i64 last_player
    i64 feature
    i64 kernel
    f64 threshold
    f64 width
    f64 missing_left


cdef class Plan:
    cdef const Step[::1] steps
    cdef const f64[:, ::1] value
    cdef const i64[::1] offsets
    cdef const i64[::1] output
    cdef const f64[::1] absent
    cdef const i64[::1] n_points
    cdef const f64[:, ::1] points
    cdef const f64[:, ::1] weights
    cdef const f64[:, ::1] edges
    cdef const f64[:, ::1] cdfs
    cdef const u32[:, ::1] subsets


cdef class Scratch:
    cdef f64[::1] present
    cdef f64[:, ::1] absent
    cdef f64[:, ::1] bounds
    cdef f64[:, ::1] product
    cdef f64[:, ::1] inverse
    cdef f64[:, ::1] sums
    cdef f64[::1] factors
    cdef i64[::1] visited
    cdef i64[:, ::1] lowest


@cython.locals(above=i64, at=i64, begin=i64, below=i64, height=i64, is_new=bint, last=i64, last_feature=i64, last_player=i64, n_players="i64[::1]", node=i64, owner=i64, parent=i64, pending="i64[:, ::1]", test=i64, tree=i64)
cdef void order_steps(const i32[::1] left, const i32[::1] right, const i32[::1] feature, const i64[::1] player, const i64[::1] offsets, i64[::1] order, Step[::1] steps, i64[::1] most) noexcept nogil

@cython.locals(at=i64, right=i64)
cdef void fill_absent(const Step[::1] steps, const f64[::1] left_shares, i64 begin, i64 end, f64[::1] absent) noexcept nogil

@cython.locals(at=i64, j=i64, left=i64, right=i64)
cdef void fill_present(const f64[:, ::1] rows, i64 i, const f64[:, ::1] cells, const Step[::1] steps, i64 begin, i64 end, const f64[:, ::1] edges, const f64[:, ::1] cdfs, const u32[:, ::1] subsets, f64[:, ::1] bounds, f64[::1] present) noexcept nogil

@cython.locals(at=i64, before=i64, k=i64, m=i64, n=i64, parent=i64)
cdef i64 go_down(const Step[::1] steps, i64 begin, i64 end, const f64[::1] points, Scratch scratch, i64 b) noexcept nogil

@cython.locals(at=i64, before=i64, k=i64, m=i64, o=i64, parent=i64, player=i64, q=i64, s=i64, v=i64)
cdef void go_up(const Step[::1] steps, i64 begin, i64 n, const f64[:, ::1] value, i64 first, const f64[::1] weights, Scratch scratch, i64 b, i64 row, f64[:, :, ::1] out) noexcept nogil

@cython.locals(at=i64, beside=i64, is_new=bint, k=i64, leaf=i64, m=i64, n_players=i64, o=i64, one=i64, other=i64, parent=i64, player=i64, v=i64)
cdef void add_pairs(const Step[::1] steps, i64 begin, i64 n, const f64[:, ::1] value, i64 first, const f64[::1] weights, Scratch scratch, i64 b, i64 row, f64[:, :, :, ::1] pairs) noexcept nogil

@cython.locals(at=i64, b=i64, begin=i64, end=i64, first=i64, i=i64, m=i64, n=i64, n_others=i64, points="const f64[::1]", tree=i64, weights="const f64[::1]")
cdef void add_shapley(const f64[:, ::1] rows, const f64[:, ::1] cells, const f64[:, ::1] others, const f64[:, ::1] other_cells, Plan plan, Scratch scratch, f64[:, :, ::1] out, f64[:, :, :, ::1] pairs) noexcept nogil
