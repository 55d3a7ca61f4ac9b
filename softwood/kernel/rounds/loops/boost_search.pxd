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


cdef class SearchSpace:
    cdef f64[:, :, :, ::1] tables
    cdef f64[:, :, ::1] found
    cdef f64[:, :, ::1] block
    cdef f64[:, :, ::1] lines
    cdef f64[:, ::1] keys
    cdef i64[:, :, ::1] ranks
    cdef f64[:, :, :, ::1] blocks


cdef f64 leaf_value(f64 g, f64 h, f64 l2, f64 lowest, f64 highest) noexcept nogil

cdef f64 score(f64 g, f64 h, f64 l2, f64 lowest, f64 highest) noexcept nogil

@cython.locals(direction=i64)
cdef f64 split_score(f64 left_h, f64 left_g, f64 h, f64 g, f64 l2, (f64, f64, i64) limits) noexcept nogil

@cython.locals(after=i64, before=i64, n_bins=i64, offset=i64)
cdef f64 between_bins(const f64[:, :, ::1] table, i64 j, i64 c, Bins bins, f64 empty) noexcept nogil

@cython.locals(e=i64)
cdef void score_candidates(f64[:, ::1] lines, i64 begin, i64 end, f64 h, f64 g, f64 l2, (f64, f64, i64) limits) noexcept nogil

@cython.locals(e=i64)
cdef f64 largest_of(const f64[:, ::1] lines, i64 begin, i64 end) noexcept nogil

@cython.locals(e=i64)
cdef i64 best_candidate(f64[:, ::1] lines, i64 begin, i64 end, (f64, f64, f64) total, (f64, f64) known, Rules rules, (f64, f64, i64) limits, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(best=i64, c=i64, known="(f64, f64)", n_bins=i64)
cdef void scan_crisp(const f64[:, :, ::1] table, i64 j, Bins bins, (f64, f64, f64) total, (f64, f64, f64) start, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(c=i64, offset=i64)
cdef void set_rates(Bins bins, i64 j, (f64, f64) interval, const f64[::1] reach, f64[:, ::1] lines) noexcept nogil

@cython.locals(c=i64, offset=i64)
cdef f64 within_gap(f64 t, const f64[:, :, ::1] table, i64 j, Bins bins, const f64[::1] reach, f64 empty) noexcept nogil

@cython.locals(first=i64, half=i64, size=i64)
cdef i64 first_from(const f64[:, ::1] places, i64 j, i64 end, f64 x) noexcept nogil

@cython.locals(e=i64, n=i64)
cdef i64 list_edges(const f64[:, :, ::1] table, i64 j, const u32[:, ::1] kinds, i64 begin, i64 end, f64 empty, f64[:, ::1] lines) noexcept nogil

@cython.locals(c=i64, e=i64, is_end=i64, k=i64, kind=i64, n=i64, n_covering=i64)
cdef i64 left_sums(const f64[:, :, ::1] table, i64 j, Edges edges, i64 begin, i64 end, f64 lo, f64 empty, (f64, f64, f64) start, f64[:, ::1] lines) noexcept nogil

@cython.locals(begin=i64, e=i64, end=i64, first=i64, is_covered=bint, known="(f64, f64)", n=i64, n_bins=i64)
cdef void scan_boxes(const f64[:, :, ::1] table, i64 j, Bins bins, Edges edges, (f64, f64) interval, (f64, f64, f64) total, (f64, f64, f64) start, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(enough=bint)
cdef void scan_missing(const f64[:, :, ::1] table, i64 j, i64 n_bins, f64 above, (f64, f64, f64) total, Rules rules, (f64, f64, i64) limits, f64[:, ::1] out, i64 line) noexcept nogil

cdef i64 mix_bits(i64 x) noexcept nogil

@cython.locals(by_gradient=bint, c=i64, drawn=i64, n=i64, n_rare=i64)
cdef (i64, f64, f64, f64) order_categories(const f64[:, :, ::1] table, i64 j, i64 n_bins, f64 total_w, Rules rules, f64[::1] keys, i64[::1] order) noexcept nogil

cdef Rules stricter(Rules rules) noexcept nogil

@cython.locals(best=i64, c=i64, chosen=Rules, known="(f64, f64)", n=i64, r=i64)
cdef void scan_categories(const f64[:, :, ::1] table, i64 j, i64 n_bins, (f64, f64, f64) total, (f64, f64, f64) start, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[::1] keys, i64[::1] order, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(has_missing=bint, side=i64, start="(f64, f64, f64)")
cdef void search_category(const f64[:, :, ::1] table, i64 j, i64 n_bins, (f64, f64, f64) total, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[::1] keys, i64[::1] order, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(absent_left=bint, before=i64, c=i64, last=i64, n=i64, n_bins=i64, of_rare=i64, r=i64)
cdef void set_subset(const f64[:, :, ::1] table, i64 j, Bins bins, f64 total_w, (f64, f64) split, Rules rules, f64[::1] keys, i64[:, ::1] ranks, u32[:, ::1] subsets, i64 line) noexcept nogil

@cython.locals(first=i64, has_missing=bint, last=i64, n_bins=i64, side=i64, start="(f64, f64, f64)", within="(f64, f64)")
cdef void search_feature(const f64[:, :, ::1] table, i64 j, Bins bins, Edges edges, (f64, f64) interval, (f64, f64, f64) total, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[:, ::1] out, i64 line) noexcept nogil

cdef bint is_splittable(const Leaf[::1] leaves, i64 leaf, i64 max_depth, f64 min_mass) noexcept nogil

cdef i64 count_blocks(i64 size) noexcept nogil

@cython.locals(b=i64, begin=i64, f=i64, first=i64, j=i64, last=i64, leaf=i64, n_blocks=i64, n_features=i64, size=i64, thread=i64)
cdef void add_block((i64, i64, i64) place, Bins bins, const f64[:, ::1] rows_sums, Pile pile, const i64[::1] features, SearchSpace space) noexcept nogil

@cython.locals(b=i64, block=i64, direction=i64, f=i64, f0=i64, f1=i64, interval="(f64, f64)", j=i64, large=i64, leaf=i64, limits="(f64, f64, i64)", n_bins=i64, n_blocks=i64, n_lines=i64, n_parts=i64, side=i64, small=i64, total="(f64, f64, f64)")
cdef void search_part((i64, i64) part, Bins bins, Edges edges, const f64[:, ::1] rows_sums, Pile pile, const i64[::1] features, const i64[::1] directions, Rules rules, SearchSpace space) noexcept nogil

@cython.locals(c=i64, f=i64)
cdef void choose_split(Leaf[::1] leaves, i64 leaf, const f64[:, ::1] found, const i64[::1] features, f64 l2, f64 min_gain, f64[:, ::1] splits) noexcept nogil
