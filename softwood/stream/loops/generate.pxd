@cython.locals(i=i64, is_above=bint, j=i64, n_drift_features=i64, n_features=i64, n_rows=i64)
cdef void turn_hyperplane(const f64[:, ::1] X, i64[::1] y, const u8[::1] is_flipped, const u8[:, ::1] is_turned, const f64[::1] weights, f64 magnitude, i64[::1] steps, i64[::1] directions) noexcept nogil

@cython.locals(down=i64, since=i64)
cdef f64 bounced(f64 start, f64 speed, i64 first, i64 swing, i64 moves) noexcept nogil

@cython.locals(c=i64, i=i64, j=i64, moves=i64, n_features=i64, n_rows=i64)
cdef void scatter_around_centroids(f64[:, ::1] X, i64[::1] y, const i64[::1] chosen, const f64[::1] lengths, i64 position, const f64[:, ::1] centres, const f64[:, ::1] velocities, const i64[:, ::1] first, const i64[:, ::1] swing, const f64[::1] spreads, const i64[::1] classes) noexcept nogil

@cython.locals(band=i64, has_level=bint, holds=bint)
cdef i64 loan_class(i64 function, const f64[:, ::1] X, i64 i) noexcept nogil

@cython.locals(place=i64)
cdef void draw_application(f64[:, ::1] X, i64 i, u64 seed) noexcept nogil

cdef f64 moved(f64 value, f64 span, u64 seed) noexcept nogil

cdef void perturb_application(f64[:, ::1] X, i64 i, f64 perturbation, u64 seed) noexcept nogil

@cython.locals(application_seed=u64, attempt=i64, i=i64, row=i64, row_seed=u64, wanted=i64)
cdef void fill_applications(f64[:, ::1] X, i64[::1] y, const i64[::1] functions, f64 perturbation, bint is_balanced, u64 seed, i64 position) noexcept nogil

