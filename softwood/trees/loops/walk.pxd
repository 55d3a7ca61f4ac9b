cdef class Nodes:
    cdef const i32[::1] left
    cdef const i32[::1] right
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
    cdef const u32[:, ::1] subsets


cdef class Scratch:
    cdef f64[:, ::1] bounds
    cdef f64[:, ::1] frames
    cdef i32[::1] frame_nodes
    cdef i32[::1] nodes
    cdef f64[::1] shares


@cython.locals(j=i64)
cdef f64 oblique_input(const f64[:, ::1] points, i64 i, i64 node, const f64[:, ::1] weights, const f64[::1] bias) noexcept nogil

@cython.locals(again=bint, height=i64, j=i64, n=i64, node=i64, top=i64, passes=bint)
cdef i64 visit(const f64[:, ::1] points, i64 i, Nodes tree, const f64[:, ::1] weights, const f64[:, ::1] cells, Scratch scratch) noexcept nogil

@cython.locals(i=i64, k=i64, n=i64, node=i64, o=i64, q=i64)
cdef void predict_rows(const f64[:, ::1] points, Nodes tree, const f64[:, ::1] weights, const f64[:, ::1] cells, Scratch scratch, const f64[:, ::1] value, f64[:, ::1] out) noexcept nogil

@cython.locals(i=i64, k=i64, n=i64)
cdef void member_rows(const f64[:, ::1] points, Nodes tree, const f64[:, ::1] weights, const f64[:, ::1] cells, Scratch scratch, i64[::1] indptr, i32[::1] indices, f64[::1] data) noexcept nogil

@cython.locals(child=i64, ends="f64[:, ::1]", i=i64, is_touched="u8[::1]", j=i64, k=i64, leaf=i64, n=i64, n_touched=i64, node=i64, o=i64, p=i64, q=i64, shape=i64, slopes="f64[:, ::1]", t=i64, total="f64[::1]", touched="i64[::1]", f=i64, passes=bint)
cdef void gradient_rows(const f64[:, ::1] points, Nodes tree, const f64[:, ::1] weights, const f64[:, ::1] cells, Scratch scratch, const f64[:, ::1] value, const i32[::1] parent, const f64[:, ::1] cell_slopes, f64[:, :, ::1] out) noexcept nogil

