cdef class SoftNodes:
    cdef const i32[::1] left
    cdef const i32[::1] right
    cdef f64[:, ::1] gates
    cdef f64[:, ::1] values


cdef class SoftScratch:
    cdef f64[:, ::1] batch
    cdef f64[:, ::1] shares
    cdef f64[:, ::1] sides
    cdef f64[:, :, ::1] outputs
    cdef f64[:, ::1] errors
    cdef f64[::1] output
    cdef f64[:, ::1] by_input


cdef class SoftDescent:
    cdef f64[:, ::1] by_gates
    cdef f64[:, ::1] gate_first
    cdef f64[:, ::1] gate_second
    cdef f64[:, ::1] by_values
    cdef f64[:, ::1] value_first
    cdef f64[:, ::1] value_second


@cython.locals(begin=i64, i=i64, n=i64, n_nodes=i64, node=i64, o=i64, other=i64, q=i64)
cdef void add_normal_equations(Rows rows, SoftNodes tree, const i64[::1] number, SoftScratch scratch, f64[:, ::1] left_side, f64[:, ::1] right_side) noexcept nogil

@cython.locals(begin=i64, i=i64, n=i64, o=i64)
cdef f64 tree_loss(Rows rows, i64 link, SoftNodes tree, SoftScratch scratch) noexcept nogil

@cython.locals(i=i64, node=i64, o=i64)
cdef void fill_leaf_sums(i64 n, SoftNodes tree, const f64[:, ::1] shares, f64[:, ::1] out) noexcept nogil

@cython.locals(begin=i64, i=i64, n=i64, node=i64, o=i64)
cdef void node_sums(Rows rows, SoftNodes tree, SoftScratch scratch, f64[::1] mass, f64[:, ::1] sums, f64[:, ::1] squares) noexcept nogil

@cython.locals(i=i64, node=i64, o=i64, one=i64, other=i64)
cdef void fill_outputs(i64 n, SoftNodes tree, SoftScratch scratch) noexcept nogil

@cython.locals(i=i64, node=i64, o=i64, one=i64, other=i64, q=i64, row=i64)
cdef void fill_gradient(Rows rows, const i64[::1] order, i64 begin, i64 n, i64 link, SoftNodes tree, f64 least, SoftScratch scratch, f64[:, ::1] by_gates, f64[:, ::1] by_values) noexcept nogil

@cython.locals(begin=i64, d=i64, n=i64, node=i64, size=i64)
cdef i64 refine_pass(Rows rows, const i64[::1] order, i64 batch, i64 link, SoftNodes tree, f64 rate, f64 l1, f64 l2, i64 n_steps, SoftScratch scratch, SoftDescent descent) noexcept nogil
