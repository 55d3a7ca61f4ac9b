cdef class LearnedRows:
    cdef const f64[:, ::1] points
    cdef const f64[:, ::1] targets
    cdef const f64[:, ::1] offset
    cdef const f64[::1] weights

cdef class RowSpace:
    cdef i64[::1] nodes
    cdef f64[:, ::1] room
    cdef f64[:, :, ::1] out
    cdef f64[:, :, ::1] slope

@cython.locals(a=i64, at=i64, b=i64, node=i64, o=i64, q=i64)
cdef void add_leaves(i64 n, LayerTrees trees, const f64[:, ::1] value, RowSpace space) noexcept nogil

@cython.locals(o=i64, part=f64, q=i64, score=f64, small=f64, target=f64)
cdef f64 loss_slope(const f64[:, ::1] targets, i64 i, f64 weight, bint is_class, const f64[:, :, ::1] out, f64[:, :, ::1] slope) noexcept nogil

@cython.locals(a=i64, at=i64, b=i64, i=i64, n=i64, node=i64, none="f64[:, ::1]", o=i64, points="const f64[:, ::1]")
cdef f64 refine_slopes(LearnedRows rows, const f64[:, ::1] cells, i64 begin, i64 end, bint is_class, LayerTrees trees, const f64[:, ::1] numbers, const f64[:, ::1] value, RowSpace space, f64[:, ::1] by_numbers, f64[:, ::1] by_value) noexcept nogil

@cython.locals(i=i64, n=i64, none="const f64[:, ::1]", o=i64)
cdef void refined_sums(const f64[:, ::1] points, const f64[:, ::1] cells, LayerTrees trees, const f64[:, ::1] numbers, const f64[:, ::1] value, RowSpace space, f64[:, ::1] out) noexcept nogil
