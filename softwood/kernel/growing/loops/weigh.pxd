@cython.locals(current=i64, i=i64, k=i64, label=i64, o=i64)
cdef void weigh(const u32[::1] rows, i64 begin, const f64[::1] shares, i64 m, const i32[::1] labels, const f64[:, ::1] targets, NodeScratch scratch, Node[::1] lines, f64[:, ::1] sums, i64 line) noexcept nogil

@cython.locals(k=i64, n_classes=i64, n_outputs=i64, o=i64)
cdef i64 number_labels(const f64[:, ::1] sums, i64 line, i64 m, NodeScratch scratch) noexcept nogil

@cython.locals(o=i64, q=i64)
cdef (f64, f64) merit_and_impurity(const Node[::1] lines, const f64[:, ::1] sums, i64 line, i64 criterion, bint is_class) noexcept nogil

cdef f64 tie_of(f64 base, f64 impure, f64 mass) noexcept nogil

@cython.locals(is_leaf=bint, n_outputs=i64)
cdef Goal goal_of(const Node[::1] lines, const f64[:, ::1] sums, i64 node, i64 m, Rules rules, i64 criterion, f64 min_mass, NodeScratch scratch) noexcept nogil
