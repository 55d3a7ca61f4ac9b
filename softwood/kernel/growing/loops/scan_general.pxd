@cython.locals(a=i64, b=i64, k=i64)
cdef void merge_runs(const f64[::1] keys, i64[:, ::1] orders, i64 row, i64 begin, i64 middle, i64 end) noexcept nogil

@cython.locals(begin=i64, end=i64, k=i64, n_runs=i64, row=i64, run=i64)
cdef i64 rising_order(const f64[::1] keys, i64 n, i64[:, ::1] orders) noexcept nogil

cdef f64 knot_place(f64 mass, i64 shape, const f64[:, ::1] edges, const f64[:, ::1] cdfs, i64 k) noexcept nogil

@cython.locals(first=i64, k=i64, last=i64)
cdef i64 place_knots(f64 x, f64 width, i64 shape, const f64[:, ::1] edges, const f64[:, ::1] cdfs, f64 lower, f64 upper, i64 owner, Knots knots, i64 at) noexcept nogil

cdef (f64, f64) add_exactly(f64 total, f64 rest, f64 x) noexcept nogil

@cython.locals(o=i64)
cdef inline void forget_slopes(f64[:, ::1] work, i64 n_outputs) noexcept nogil

@cython.locals(a=i64, k=i64)
cdef f64 _begin(const f64[:, ::1] atoms, i64 n, i64 n_outputs, f64[:, ::1] work) noexcept nogil

@cython.locals(o=i64, q=i64, side=i64)
cdef (f64, f64, f64, f64) go_on(f64 t, f64 t_next, bint is_gap, f64 left_mass, f64 rate_mass, f64 total, (f64, f64) interval, Goal goal, f64[:, ::1] work, f64 best, f64 best_t, f64 best_mass) noexcept nogil

@cython.locals(a=i64, k=i64, knot=i64, n_open=i64, position=i64, q=i64, row=i64)
cdef (f64, f64, f64) scan_general(Knots knots, i64 n_knots, const f64[:, ::1] atoms, i64 n, (f64, f64) interval, Goal goal, f64[:, ::1] work) noexcept nogil

@cython.locals(o=i64)
cdef void add_sums(const f64[:, ::1] points, const i32[::1] labels, i64 k, i64 n_outputs, f64[:, ::1] sums, i64 row, i64 first) noexcept nogil

@cython.locals(o=i64)
cdef void place_point(const f64[:, ::1] points, const i32[::1] labels, i64 k, i64 n_outputs, f64[:, ::1] atoms, i64 a) noexcept nogil

@cython.locals(a=i64, o=i64)
cdef void spread_missing(f64 missing, f64 observed, i64 n_outputs, const f64[:, ::1] work, f64[:, ::1] atoms, i64 n) noexcept nogil

@cython.locals(at=i64, k=i64, n=i64, n_outputs=i64, o=i64)
cdef (f64, f64, f64) scan_points(const f64[:, ::1] cells, const f64[:, ::1] points, const i32[::1] labels, i64 m, i64 shape, const f64[:, ::1] edges, const f64[:, ::1] cdfs, (f64, f64) interval, Goal goal, Knots knots, f64[:, ::1] work) noexcept nogil

@cython.locals(k=i64, row=i64, shape=i64)
cdef (f64, f64, f64) scan_cells(Bins bins, Kernels kernels, i64 feature, const u32[::1] rows, i64 begin, i64 m, NodeScratch scratch, (f64, f64) interval, Goal goal, Search search) noexcept nogil

@cython.locals(a=i64, at=i64)
cdef (f64, f64, f64) scan_atoms(const f64[:, ::1] atoms, i64 n, f64 width, i64 shape, Kernels kernels, (f64, f64) interval, Goal goal, Knots knots, f64[:, ::1] work) noexcept nogil
