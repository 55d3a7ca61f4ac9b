@cython.locals(s=i64)
cdef i64 take_slot(Statistics statistics, i64 node) noexcept nogil

@cython.locals(b=i64, c=i64, j=i64)
cdef void clear_slot(Statistics statistics, i64 slot) noexcept nogil

@cython.locals(c=i64, j=i64, k=i64)
cdef void keep_normals(Statistics statistics, i64 slot, f64[:, :, ::1] out) noexcept nogil

@cython.locals(j=i64, k=i64, n_keys=i64)
cdef void observe_class(Statistics statistics, i64 slot, const f64[:, ::1] points, i64 i, i64 label, f64 weight, bint with_density) noexcept nogil

@cython.locals(j=i64, k=i64, label=i64, source=i64)
cdef void add_log_densities(Statistics statistics, i64 slot, const f64[:, ::1] points, i64 i, const i64[:, ::1] keys, i64 node, i64 n_keys, f64 unseen, f64[:, ::1] out, i64 row) noexcept nogil

cdef f64 weight_below(Statistics statistics, i64 slot, i64 j, i64 label, f64 threshold) noexcept nogil

cdef f64 impurity_sum(f64 total, f64 sum_of_terms, f64 criterion) noexcept nogil

cdef f64 impurity_term(f64 weight, f64 criterion) noexcept nogil

@cython.locals(k=i64)
cdef f64 impurity(const f64[:, ::1] weights, i64 row, f64 criterion) noexcept nogil

@cython.locals(i=i64, label=i64)
cdef f64 merit_of_threshold(Statistics statistics, i64 slot, i64 j, f64 threshold, f64 before, f64 min_fraction, f64 criterion) noexcept nogil

cdef f64 ones(Statistics statistics, i64 slot, i64 j, i64 label) noexcept nogil

@cython.locals(i=i64, label=i64)
cdef (f64, f64) weight_of_category(Statistics statistics, i64 slot, i64 j) noexcept nogil

cdef bint is_side_of_its_own(Statistics statistics, i64 slot, i64 j, f64 min_fraction) noexcept nogil

@cython.locals(i=i64, j=i64, label=i64, n_heavy=i64, n_keys=i64, n_sides=i64, source=i64)
cdef (f64, i64) merit_of_categories(Statistics statistics, i64 slot, i64 first, f64 before, f64 min_fraction, f64 criterion) noexcept nogil

@cython.locals(best=i64, c=i64, i=i64, is_many=bint, is_same=bint, j=i64, label=i64, n_tests=i64, source=i64, splits_many=bint)
cdef FoundTest best_class_test(Statistics statistics, i64 slot, f64 before, f64 min_fraction, f64 criterion, i64 most_tests) noexcept nogil

@cython.locals(k=i64)
cdef bint is_first_of_source(Statistics statistics, i64 j) noexcept nogil

@cython.locals(b=i64, j=i64, n_bins=i64)
cdef void observe_real(Statistics statistics, i64 slot, const f64[:, ::1] points, i64 i, f64 target, f64 weight) noexcept nogil

@cython.locals(b=i64, n_bins=i64)
cdef i64 bin_of(Statistics statistics, i64 slot, i64 j, f64 x) noexcept nogil

@cython.locals(c=i64, n_bins=i64, old=i64)
cdef void fit_range(Statistics statistics, i64 slot, i64 j, f64 x) noexcept nogil

@cython.locals(b=i64, c=i64, half=i64, n_bins=i64, new=i64, old=i64, step=i64)
cdef void double_range(Statistics statistics, i64 slot, i64 j, bint is_upper) noexcept nogil

@cython.locals(after=i64, b=i64, best=i64, best_bin=i64, feature_bin=i64, is_same=bint, j=i64, n_bins=i64, source=i64)
cdef FoundTest best_real_test(Statistics statistics, i64 slot, f64 min_fraction) noexcept nogil

@cython.locals(b=i64, n_bins=i64)
cdef f64 real_merit(Statistics statistics, i64 slot, i64 j, f64 threshold) noexcept nogil

@cython.locals(b=i64, n_bins=i64, side=i64)
cdef void add_sides(Statistics statistics, i64 slot, i64 j, i64 last) noexcept nogil

cdef f64 hoeffding_bound(f64 spread, f64 delta, f64 n) noexcept nogil
