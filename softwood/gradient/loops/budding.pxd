cdef class BuddingNodes:
    cdef f64[:, ::1] gates
    cdef f64[:, ::1] values
    cdef f64[::1] buds
    cdef const u8[::1] awake
    cdef const i64[::1] living


cdef class BuddingScratch:
    cdef f64[::1] sides
    cdef f64[:, ::1] outputs
    cdef f64[:, ::1] errors
    cdef f64[::1] error


cdef class BuddingGradient:
    cdef f64[:, ::1] by_gates
    cdef f64[:, ::1] by_values
    cdef f64[::1] by_buds


cdef class BuddingAdam:
    cdef f64[:, ::1] gate_first
    cdef f64[:, ::1] gate_second
    cdef f64[:, ::1] value_first
    cdef f64[:, ::1] value_second
    cdef i64[:, ::1] steps


@cython.locals(k=i64, n_inner=i64, node=i64, o=i64, q=i64)
cdef void respond(const f64[:, ::1] points, i64 i, BuddingNodes tree, BuddingScratch scratch) noexcept nogil

@cython.locals(d=i64, i=i64, j=i64, k=i64, left=i64, n_inner=i64, node=i64, o=i64, place=i64, q=i64, right=i64)
cdef void add_budding_gradient(Rows rows, const i64[::1] order, i64 begin, i64 end, i64 link, BuddingNodes tree, BuddingScratch scratch, BuddingGradient gradient) noexcept nogil

@cython.locals(begin=i64, end=i64, k=i64, n=i64, n_inner=i64, node=i64)
cdef void budding_pass(Rows rows, const i64[::1] order, i64 batch, i64 link, BuddingNodes tree, f64 rate, f64 bud_rate, f64 split_cost, BuddingScratch scratch, BuddingGradient gradient, BuddingAdam adam) noexcept nogil

@cython.locals(i=i64, o=i64)
cdef void budding_outputs(const f64[:, ::1] points, BuddingNodes tree, BuddingScratch scratch, f64[:, ::1] out) noexcept nogil
