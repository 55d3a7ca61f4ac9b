@cython.locals(has_bias=bint, i=i64, is_class=bint, is_real=bint, label=i64, n=i64, n_rows=i64)
cdef void observe_rows(Rows rows, TreeNodes tree, SoftNodes soft, Path path, Statistics statistics) noexcept nogil

cdef bint split_leaves(bint is_class, TreeNodes tree, SoftNodes soft, Path path, Statistics statistics) noexcept nogil
