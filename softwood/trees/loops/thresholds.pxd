cdef f64 middle_of(f64 low, f64 high) noexcept nogil
