@cython.locals(z=u64)
cdef u64 next_seed(u64 seed, i64 salt) noexcept nogil

cdef f64 to_unit(u64 seed) noexcept nogil
