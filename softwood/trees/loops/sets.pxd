cdef bint is_category(const i64[::1] n_categories, i64 j) noexcept nogil

cdef bint has_member(const u32[:, ::1] subsets, i64 row, i64 category) noexcept nogil
