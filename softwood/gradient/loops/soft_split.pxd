cdef class Rows:
    cdef const f64[:, ::1] points
    cdef const f64[:, ::1] targets
    cdef const f64[::1] weights


cdef class Near:
    cdef const f64[:, ::1] points
    cdef const f64[:, ::1] targets
    cdef const f64[::1] weights
    cdef const f64[:, ::1] rest
    cdef const f64[::1] path


@cython.locals(d=i64)
cdef inline f64 split_input(const f64[:, ::1] points, i64 i, const f64[::1] gate) noexcept nogil

@cython.locals(d=i64, j=i64)
cdef inline void _move_gate(const f64[:, ::1] points, i64 i, f64[::1] gate, f64 amount) noexcept nogil

@cython.locals(o=i64, q=i64)
cdef inline void fill_errors(const f64[:, ::1] targets, i64 i, i64 link, f64[::1] output) noexcept nogil

@cython.locals(o=i64, q=i64)
cdef inline f64 row_loss(const f64[:, ::1] targets, i64 i, i64 link, const f64[::1] output) noexcept nogil

@cython.locals(i=i64, o=i64, output="f64[::1]")
cdef f64 mean_loss(const f64[:, ::1] targets, const f64[::1] weights, i64 link, const f64[:, ::1] outputs) noexcept nogil

@cython.locals(i=i64, o=i64)
cdef void split_outputs(const f64[:, ::1] points, const f64[:, ::1] rest, const f64[::1] path, const f64[::1] gate, const f64[:, ::1] values, f64[::1] shares, f64[:, ::1] outputs) noexcept nogil

@cython.locals(o=i64, q=i64)
cdef inline (f64, f64) split_gradient(const f64[:, ::1] points, const f64[:, ::1] targets, const f64[:, ::1] rest, const f64[::1] path, i64 i, i64 link, const f64[::1] gate, const f64[:, ::1] values, f64[::1] output) noexcept nogil

@cython.locals(d=i64, i=i64, j=i64, k=i64)
cdef f64 _descend_single(Near near, const i64[::1] visits, i64 link, f64 step, f64 decay, f64 l1, f64 l2, f64[::1] gate, f64[:, ::1] values) noexcept nogil

@cython.locals(j=i64)
cdef void _shrink(f64[::1] gate, i64 d, f64 step, f64 l1, f64 l2) noexcept nogil

@cython.locals(d=i64, i=i64, k=i64, o=i64, q=i64)
cdef f64 descend(Near near, const i64[::1] visits, i64 link, f64 step, f64 decay, f64 l1, f64 l2, f64[::1] gate, f64[:, ::1] values, f64[::1] output) noexcept nogil

@cython.locals(best_feature=i64, i=i64, j=i64, k=i64, o=i64, q=i64)
cdef (i64, f64) best_test(const f64[:, ::1] points, const f64[:, ::1] targets, const f64[::1] weights, const i64[:, ::1] orders, i64 begin, i64 end, f64[:, ::1] sums) noexcept nogil

@cython.locals(d=i64, i=i64, k=i64, o=i64)
cdef f64 split_loss(Near near, i64 link, const f64[::1] gate, const f64[:, ::1] values, const i64[::1] part, f64[::1] of_parts,
                    f64[::1] output) noexcept nogil
