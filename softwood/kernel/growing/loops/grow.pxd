@cython.locals(k=i64, other=i64, p=i64)
cdef void draw_features(i64[::1] order, const i64[::1] priority, u64 seed, i64 n_draw) noexcept nogil

@cython.locals(current=i64, i=i64, k=i64, label=i64, o=i64)
cdef void weigh(const u32[::1] rows, i64 begin, const f64[::1] shares, i64 m, const i32[::1] labels, Targets targets, Desk desk, Node[::1] lines, f64[:, ::1] sums, i64 line) noexcept nogil

@cython.locals(k=i64, n_classes=i64, n_outputs=i64, o=i64)
cdef i64 number_labels(const f64[:, ::1] sums, i64 line, i64 m, Desk desk) noexcept nogil

@cython.locals(o=i64, q=i64)
cdef (f64, f64) merit_and_impurity(const Node[::1] lines, const f64[:, ::1] sums, i64 line, i64 criterion, bint is_class) noexcept nogil

cdef f64 tie_of(f64 base, f64 impure, f64 mass) noexcept nogil

@cython.locals(absent_left=bint, at_once=bint, best_feature=i64, by_cell=bint, crisp=bint, end=i64, f=i64, first=i64, has_sums=bint, is_category_column=bint, is_single=bint, j=i64, kind=i64, last=i64, n=i64, n_bins=i64, n_columns=i64, nearer_halves=bint, rare=i64, slot=i64, sparse=bint)
cdef (i64, f64, f64, f64) search_node(Bins bins, const f64[::1] widths, Kernels kernels, const u32[::1] rows, i64 begin, i64 m, Desk desk, i64 n_draw, const f64[:, ::1] intervals, Goal goal, Search search) noexcept nogil

@cython.locals(k=i64)
cdef void place_points(const f64[:, ::1] points, i64 feature, const u32[::1] rows, i64 begin, i64 m, f64[::1] x) noexcept nogil

@cython.locals(by_cell=bint, feature=i64, i=i64, k=i64, shape=i64)
cdef void kernel_parts(const f64[:, ::1] points, Kernels kernels, const u32[::1] rows, i64 begin, i64 m, (i64, f64, f64) split, (f64, f64, f64) reach, f64[::1] parts) noexcept nogil

@cython.locals(k=i64)
cdef void part_shares(f64[::1] shares, i64 begin, i64 m, f64 cutoff, f64[::1] parts) noexcept nogil

@cython.locals(k=i64)
cdef f64 left_mass_of(const u32[::1] rows, const f64[::1] shares, i64 begin, i64 m, const f64[::1] weights, f64 cutoff, const f64[::1] parts) noexcept nogil

@cython.locals(i=i64, k=i64, n_left=i64, n_right=i64)
cdef (i64, i64) sort_out(u32[::1] rows, f64[::1] shares, i64 begin, i64 m, u32[::1] left_rows, f64[::1] left_shares) noexcept nogil

cdef (i64, i64) share_out(const f64[::1] weights, u32[::1] rows, f64[::1] shares, i64 begin, i64 m, (f64, f64, f64) keep, u32[::1] left_rows, f64[::1] left_shares) noexcept nogil

@cython.locals(feature=i64)
cdef (i64, i64) divide(Bins bins, Kernels kernels, const f64[::1] weights, u32[::1] rows, f64[::1] shares, i64 begin, i64 m, (i64, f64, f64) split, (f64, f64, f64) reach, (f64, f64, f64) keep, u32[::1] left_rows, f64[::1] left_shares) noexcept nogil

@cython.locals(feature=i64)
cdef (i64, i64) divide_by_set(Bins bins, const f64[::1] weights, u32[::1] rows, f64[::1] shares, i64 begin, i64 m, (i64, f64, f64) split, const u32[:, ::1] subsets, i64 line, (f64, f64, f64) keep, u32[::1] left_rows, f64[::1] left_shares) noexcept nogil

@cython.locals(w=i64)
cdef void keep_set(const u32[:, ::1] found, u32[:, ::1] subsets, i64 line) noexcept nogil

@cython.locals(at=i64, begin=i64, depth=i64, entry=i64, feature=i64, j=i64, k=i64, line=i64, m=i64, middle=i64, n_left=i64, n_outputs=i64, n_right=i64, seed=u64, side=i64)
cdef void grow(Bins bins, const f64[::1] widths, Kernels kernels, const i32[::1] labels, Targets targets, Rules rules, i64 criterion, Pile pile, Desk desk, Search search, RandomSearch random) noexcept nogil
