cdef class Bins:
    cdef const code[:, ::1] codes
    cdef const f64[::1] values
    cdef const f64[::1] lows
    cdef const f64[::1] highs
    cdef const i64[::1] offsets
    cdef const i64[::1] priority
    cdef const i64[::1] n_categories
    cdef const f64[:, ::1] points


cdef class Kernels:
    cdef const i64[::1] kinds
    cdef const f64[:, ::1] edges
    cdef const f64[:, ::1] cdfs
    cdef const f64[:, ::1] cells
    cdef const u8[::1] by_cell


cdef class SubsetSpace:
    cdef f64[::1] keys
    cdef i64[::1] order
    cdef i64[::1] ranks
    cdef f64[:, ::1] means
    cdef u32[:, ::1] found


cdef struct Goal:
    f64 total
    f64 base
    f64 min_mass
    f64 tie
    i64 n_outputs
    i64 criterion
    f64 rare_mass
