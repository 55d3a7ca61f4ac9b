cdef struct Rules:
    i64 max_leaves
    i64 max_depth
    f64 min_mass
    f64 min_hessian
    f64 min_gain
    f64 l2
    f64 cutoff
    bint best_first
    f64 rare_mass
    f64 category_smooth
    f64 category_l2
    i64 category_order


cdef class Edges:
    cdef const f64[::1] widths
    cdef const f64[:, ::1] places
    cdef const u32[:, ::1] kinds
    cdef const f64[::1] reach


cdef f64 leaf_value(f64 g, f64 h, f64 l2, f64 lowest, f64 highest) noexcept nogil

cdef f64 score(f64 g, f64 h, f64 l2, f64 lowest, f64 highest) noexcept nogil

@cython.locals(direction=i64)
cdef f64 split_score(f64 left_h, f64 left_g, f64 h, f64 g, f64 l2, (f64, f64, i64) limits) noexcept nogil

@cython.locals(e=i64)
cdef void score_candidates(f64[:, ::1] lines, i64 begin, i64 end, f64 h, f64 g, f64 l2, (f64, f64, i64) limits) noexcept nogil

@cython.locals(e=i64)
cdef f64 largest_of(const f64[:, ::1] lines, i64 begin, i64 end) noexcept nogil

@cython.locals(e=i64)
cdef i64 best_candidate(f64[:, ::1] lines, i64 begin, i64 end, (f64, f64, f64) total, (f64, f64) known, Rules rules, (f64, f64, i64) limits, f64[:, ::1] out, i64 line) noexcept nogil
