@cython.locals(is_known=bint, j=i64)
cdef (f64, f64) leaf_target(const f64[:, ::1] points, i64 i, i64 leaf, TreeNodes tree, RealNodes reals) noexcept nogil

@cython.locals(i=i64)
cdef void predict_targets(Rows rows, TreeNodes tree, RealNodes reals) noexcept nogil

@cython.locals(j=i64)
cdef void learn_linear(const f64[:, ::1] points, i64 i, f64 target, f64 weight, i64 leaf, f64 linear, TreeNodes tree, RealNodes reals) noexcept nogil

@cython.locals(has_model=bint, has_out=bint, i=i64, leaf=i64, node=i64, slot=i64)
cdef Learned learn_targets(Rows rows, i64 start, TreeNodes tree, RealNodes reals, Statistics statistics) noexcept nogil

@cython.locals(child=i64, j=i64, side=i64, slot=i64)
cdef void try_target_split(i64 leaf, TreeNodes tree, RealNodes reals, Statistics statistics) noexcept nogil
