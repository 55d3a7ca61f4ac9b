cdef inline void add_four(number[:, :, ::1] tables, i64 j, i64 c, number first, number second, number third, number fourth) noexcept nogil

@cython.locals(end=i64, g=number, group=i64, h=number, i=i64, j=i64, k=i64, line=i64, touched=i64, w=number, z=number)
cdef void add_rows(const code[:, ::1] codes, const u32[::1] rows, i64 first, i64 last, i64 j0, i64 j1, number[:, :, ::1] tables, number[:, ::1] block) noexcept nogil

@cython.locals(f=i64)
cdef bint are_neighbours(const i64[::1] features, i64 f0, i64 f1) noexcept nogil
