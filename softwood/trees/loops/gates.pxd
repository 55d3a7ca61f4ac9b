cdef f64 sigmoid(f64 z) noexcept nogil

cdef f64 smooth_step(f64 z, f64 width) noexcept nogil

cdef f64 smooth_step_slope(f64 z, f64 width) noexcept nogil

cdef f64 oblique_share(i64 kind, f64 z, f64 width, f64 blend, bint passes) noexcept nogil

cdef f64 oblique_slope(i64 kind, f64 z, f64 width, f64 blend) noexcept nogil

