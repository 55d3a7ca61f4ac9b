cdef bint note_error(f64 error, TreeNodes tree) noexcept nogil

@cython.locals(best=i64, k=i64)
cdef bint note_class(const f64[:, ::1] outputs, i64 i, i64 label, TreeNodes tree) noexcept nogil

cdef bint note_target(f64 output, f64 target, TreeNodes tree) noexcept nogil

@cython.locals(is_alarm=bint)
cdef Learned learned(i64 n_rows, TreeNodes tree) noexcept nogil
