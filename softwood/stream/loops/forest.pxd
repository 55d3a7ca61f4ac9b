@cython.locals(i=i64)
cdef void bound_targets(const f64[::1] targets, const f64[::1] weights, f64[:, ::1] scaler, f64 limit, f64[::1] out) noexcept nogil

@cython.locals(count=i64)
cdef i64 draw_count(u64 seed, i64 number, f64 rate, f64 start) noexcept nogil

@cython.locals(i=i64, number=i64)
cdef void draw_weights(u64 seed, i64 first, f64 rate, const f64[::1] weights, f64[::1] out) noexcept nogil

@cython.locals(t=i64)
cdef void draw_row(const u64[::1] seeds, i64 number, f64 rate, f64 weight, f64[::1] out) noexcept nogil

@cython.locals(i=i64, j=i64)
cdef void keep_columns(const f64[:, ::1] points, const u8[::1] is_kept, f64[:, ::1] out) noexcept nogil

@cython.locals(t=i64)
cdef void keep_columns_of_all(const f64[:, ::1] points, const u8[:, ::1] is_kept, f64[:, :, ::1] out) noexcept nogil

@cython.locals(best=i64, k=i64)
cdef f64 class_error(const f64[:, ::1] outputs, i64 i, i64 label, f64 memory, f64[::1] scores) noexcept nogil

cdef f64 real_error(f64 output, f64 target, f64 memory, f64[::1] scores) noexcept nogil

@cython.locals(i=i64, is_class=bint, is_warned=bint)
cdef (i64, i64) watch(const f64[:, ::1] outputs, const i64[::1] labels, const f64[::1] targets, const f64[::1] weights, i64 start, f64 memory, f64[:, ::1] detectors, f64[::1] scores, f64[::1] losses) noexcept nogil

@cython.locals(t=i64)
cdef void watch_row(const f64[:, :, ::1] outputs, const i64[::1] labels, const f64[::1] targets, const f64[::1] weights, f64 memory, f64[:, :, ::1] detectors, f64[:, ::1] scores, f64[:, ::1] losses, i64[::1] found) noexcept nogil

@cython.locals(i=i64, is_class=bint)
cdef void score_spare(const f64[:, ::1] outputs, const i64[::1] labels, const f64[::1] targets, const f64[::1] weights, f64 memory, f64[::1] scores) noexcept nogil

@cython.locals(i=i64, k=i64, n=i64, n_classes=i64, n_trees=i64, t=i64)
cdef void vote_classes(const f64[:, :, ::1] outputs, const f64[:, ::1] losses, f64 sharpness, f64[:, ::1] out) noexcept nogil

@cython.locals(i=i64, k=i64, n_classes=i64)
cdef void adjust_classes(const i64[::1] labels, const f64[::1] weights, f64[::1] adjustment, f64[:, ::1] out) noexcept nogil

cdef f64 level_part(const f64[::1] adjustment) noexcept nogil

@cython.locals(i=i64)
cdef void adjust_reals(const f64[::1] targets, const f64[::1] weights, f64[::1] adjustment, f64[:, ::1] out) noexcept nogil

@cython.locals(i=i64, n=i64, n_trees=i64, t=i64)
cdef void vote_reals(const f64[:, :, ::1] outputs, const f64[:, ::1] losses, f64 sharpness, f64[:, ::1] out) noexcept nogil
