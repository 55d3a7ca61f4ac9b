@cython.locals(j=i64)
cdef void standardise(const f64[:, ::1] points, i64 i, const f64[:, ::1] scaler, bint has_bias, f64[::1] x) noexcept nogil

@cython.locals(is_near=bint, j=i64)
cdef void bounded(const f64[:, ::1] points, i64 i, const f64[:, ::1] scaler, f64 limit, f64[:, ::1] within) noexcept nogil

@cython.locals(j=i64, n=i64)
cdef inline f64 along(const f64[:, :, ::1] gates, i64 node, const f64[::1] x) noexcept nogil

@cython.locals(at=i64, n=i64, node=i64, side=i64)
cdef i64 visit(const f64[:, ::1] points, i64 i, TreeNodes tree, SoftNodes soft, Path path) noexcept nogil

@cython.locals(at=i64, k=i64, node=i64)
cdef void add_outputs(i64 n, TreeNodes tree, SoftNodes soft, Path path, f64[:, ::1] out, i64 row) noexcept nogil

@cython.locals(k=i64)
cdef void softmax(f64[:, ::1] out, i64 row) noexcept nogil

@cython.locals(has_bias=bint, i=i64, n=i64)
cdef void predict_soft(Rows rows, i64 kind, TreeNodes tree, SoftNodes soft, Path path) noexcept nogil

@cython.locals(at=i64, at_left=i64, at_right=i64, is_batch=bint, j=i64, k=i64, learns_alpha=bint, node=i64, q=i64)
cdef void add_gradients(f64 weight, i64 label, i64 n, TreeNodes tree, SoftNodes soft, Path path) noexcept nogil

@cython.locals(k=i64, q=i64)
cdef void count_label(i64 label, f64 mass, i64 node, TreeNodes tree, SoftNodes soft) noexcept nogil

cdef inline void adam_part(f64[:, :, ::1] parameters, f64[:, ::1] slopes, i64 node, i64 j, f64 scale, f64 length, f64 least) noexcept nogil

@cython.locals(j=i64)
cdef void take_step(i64 node, TreeNodes tree, SoftNodes soft) noexcept nogil

@cython.locals(node=i64)
cdef void take_steps(TreeNodes tree, SoftNodes soft) noexcept nogil

cdef f64 miss(Rows rows, i64 i, SoftNodes soft, Path path) noexcept nogil

@cython.locals(grows=bint, has_bias=bint, has_out=bint, i=i64, is_alarm=bint, is_begun=bint, is_class=bint, k=i64, label=i64, n=i64, n_outputs=i64)
cdef Learned learn_soft(Rows rows, i64 start, TreeNodes tree, SoftNodes soft, Path path, Statistics statistics) noexcept nogil
