cdef class OneStageNodes:
    cdef f64[:, ::1] gates
    cdef u8[::1] alive
    cdef f64[::1] mass
    cdef f64[:, ::1] sums
    cdef f64 prior


cdef class OneStageScratch:
    cdef i64[::1] path
    cdef f64[::1] inputs
    cdef f64[:, ::1] values
    cdef f64[:, ::1] spare


cdef class OneStageDescent:
    cdef f64[:, ::1] first
    cdef f64[:, ::1] second
    cdef i64[::1] steps
    cdef f64[:, ::1] by_gates
    cdef u8[::1] touched
    cdef f64[::1] by_architecture


cdef struct OneStagePace:
    i64 batch
    f64 rate
    f64 l1
    f64 l2
    f64 gamma_rate
    f64 split_cost


@cython.locals(d=i64)
cdef inline f64 gate_input(const f64[:, ::1] points, i64 i, const f64[:, ::1] gates, i64 node) noexcept nogil

cdef f64 _logistic_noise(u64 seed) noexcept nogil

@cython.locals(node=i64)
cdef i64 find_bottom(const f64[:, ::1] points, i64 i, const f64[:, ::1] gates) noexcept nogil

@cython.locals(o=i64)
cdef inline void _add_path(i64 i, i64 node, f64 amount, const f64[:, ::1] targets, f64[::1] mass, f64[:, ::1] sums) noexcept nogil

@cython.locals(i=i64, node=i64, o=i64)
cdef void refresh(Rows rows, const f64[:, ::1] gates, i64[::1] bottom, f64[::1] mass, f64[:, ::1] sums) noexcept nogil

@cython.locals(o=i64)
cdef inline void step_value(i64 node, const f64[::1] mass, const f64[:, ::1] sums, f64 prior, f64[:, ::1] values, i64 row) noexcept nogil

@cython.locals(o=i64)
cdef inline void root_value(const f64[::1] mass, const f64[:, ::1] sums, f64[:, ::1] values, i64 row) noexcept nogil

cdef inline i64 follow(const f64[:, ::1] points, i64 i, i64 node, OneStageNodes tree, u64 seed, f64[:, ::1] values, i64 row) noexcept nogil

@cython.locals(i=i64)
cdef void leaves_and_values(const f64[:, ::1] points, OneStageNodes tree, i64[::1] leaves, f64[:, ::1] out) noexcept nogil

@cython.locals(d=i64, here=i64, i=i64, j=i64, k=i64, length=i64, n_inner=i64, node=i64, o=i64, other_seed=u64, q=i64, row_seed=u64, sibling=i64, step=i64, went_left=bint)
cdef f64 add_gate_gradient(Rows rows, const i64[::1] order, i64 begin, i64 end, OneStageNodes tree, u64 seed, OneStageScratch scratch, f64[:, ::1] by_gates, u8[::1] touched) noexcept nogil

@cython.locals(child=i64, i=i64, k=i64, length=i64, n_inner=i64, node=i64, o=i64, q=i64, step=i64)
cdef void add_architecture_gradient(Rows rows, const i64[::1] order, i64 begin, i64 end, OneStageNodes tree, OneStageScratch scratch, f64[::1] by_architecture) noexcept nogil

@cython.locals(node=i64)
cdef void discretise(i64 mode, const f64[::1] gamma, u64 seed, u8[::1] alive) noexcept nogil

@cython.locals(begin=i64, d=i64, end=i64, i=i64, k=i64, n=i64, n_inner=i64, new=i64, node=i64)
cdef f64 train_pass(Rows rows, const i64[::1] order, Rows validation, const i64[::1] validation_order, i64 mode, OneStageNodes tree, f64[::1] gamma, i64[::1] bottom, OneStagePace pace, u64 seed, OneStageScratch scratch, OneStageDescent descent) noexcept nogil
