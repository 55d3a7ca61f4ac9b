@cython.locals(feature=i64)
cdef f64 passes(const f64[:, ::1] points, i64 i, i64 node, TreeNodes tree) noexcept nogil

@cython.locals(has_slots=bint, n_inner=i64, n_nodes=i64)
cdef bint has_room_for_all(TreeNodes tree, Statistics statistics) noexcept nogil

@cython.locals(at=i64, node=i64, slot=i64)
cdef void observe(const f64[:, ::1] points, i64 i, i64 label, f64 target, f64 weight, i64 n, TreeNodes tree, Path path, Statistics statistics) noexcept nogil

@cython.locals(at=i64, is_batch=bint, is_inner=bint, is_new=bint, is_sure=bint, k=i64, n_nodes=i64, n_outputs=i64, node=i64, old=i64, slot=i64, test=FoundTest)
cdef void grow(i64 n, bint is_class, TreeNodes tree, SoftNodes soft, Path path, Statistics statistics) noexcept nogil

cdef f64 deepest(TreeNodes tree, i64 n_outputs) noexcept nogil

@cython.locals(c=i64, child=i64, j=i64, k=i64, n_outputs=i64, side=i64, slot=i64, taken=i64)
cdef void divide_leaf(i64 leaf, bint is_class, TreeNodes tree, SoftNodes soft, Statistics statistics) noexcept nogil

@cython.locals(c=i64, feature=i64, j=i64)
cdef void start_gate(i64 node, TreeNodes tree, SoftNodes soft) noexcept nogil

@cython.locals(feature=i64, i=i64, k=i64, label=i64, q=i64, slot=i64)
cdef void class_moves(i64 node, TreeNodes tree, Statistics statistics) noexcept nogil
