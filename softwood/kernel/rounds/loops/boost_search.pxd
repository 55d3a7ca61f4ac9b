cdef packed struct Leaf:
    i64 begin
    i64 size
    i64 line
    i64 depth
    i64 slot
    i64 feature
    f64 gain
    f64 h
    f64 g
    f64 w
    f64 lowest
    f64 highest


cdef class SearchSpace:
    cdef f64[:, :, :, ::1] tables
    cdef f64[:, :, ::1] found
    cdef f64[:, :, ::1] block
    cdef f64[:, :, ::1] lines
    cdef f64[:, ::1] keys
    cdef i64[:, :, ::1] ranks
    cdef f64[:, :, :, ::1] blocks


cdef bint is_splittable(const Leaf[::1] leaves, i64 leaf, i64 max_depth, f64 min_mass) noexcept nogil

cdef i64 count_blocks(i64 size) noexcept nogil

@cython.locals(b=i64, begin=i64, f=i64, first=i64, j=i64, last=i64, leaf=i64, n_blocks=i64, n_features=i64, size=i64, thread=i64)
cdef void add_block((i64, i64, i64) place, Bins bins, const f64[:, ::1] rows_sums, Pile pile, const i64[::1] features, SearchSpace space) noexcept nogil

@cython.locals(b=i64, block=i64, direction=i64, f=i64, f0=i64, f1=i64, interval="(f64, f64)", j=i64, large=i64, leaf=i64, limits="(f64, f64, i64)", n_bins=i64, n_blocks=i64, n_lines=i64, n_parts=i64, side=i64, small=i64, total="(f64, f64, f64)")
cdef void search_part((i64, i64) part, Bins bins, Edges edges, const f64[:, ::1] rows_sums, Pile pile, const i64[::1] features, const i64[::1] directions, Rules rules, SearchSpace space) noexcept nogil

@cython.locals(c=i64, f=i64)
cdef void choose_split(Leaf[::1] leaves, i64 leaf, const f64[:, ::1] found, const i64[::1] features, f64 l2, f64 min_gain, f64[:, ::1] splits) noexcept nogil
