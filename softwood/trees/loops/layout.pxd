cdef class LayerTrees:
    cdef const i64[:, ::1] table
    cdef const i64[::1] gates
    cdef const i64[::1] leaves
    cdef const f64[:, ::1] edges
    cdef const f64[:, ::1] cdfs
    cdef const u32[:, ::1] sets


