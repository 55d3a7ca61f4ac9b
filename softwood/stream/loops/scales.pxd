cdef f64 from_mean(f64 x, const f64[:, ::1] scaler, i64 j) noexcept nogil

@cython.locals(j=i64)
cdef void update_scaler(f64[:, ::1] scaler, const f64[:, ::1] points, i64 i, f64 weight, f64 memory, f64 limit) noexcept nogil

cdef void update_scale(f64[:, ::1] scaler, i64 j, f64 x, f64 weight, f64 memory, f64 limit) noexcept nogil

cdef f64 past_weight(f64[:, ::1] scaler, i64 j, f64 x, f64 weight, f64 limit) noexcept nogil
