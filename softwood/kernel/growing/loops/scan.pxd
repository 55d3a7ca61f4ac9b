cdef f64 x_log_x(f64 x) noexcept nogil

@cython.locals(o=i64, whole=i64)
cdef inline f64 squares_of(const f64[:, ::1] work, i64 row, i64 n) noexcept nogil

@cython.locals(o=i64, whole=i64)
cdef inline f64 other_squares_of(const f64[:, ::1] work, i64 row, i64 n) noexcept nogil

@cython.locals(k=i64)
cdef f64 merit_of(f64 left_mass, f64 total_mass, const f64[:, ::1] work, i64 row, i64 n_outputs, i64 criterion) noexcept nogil

cdef inline bint may_be_best(f64 left_mass, f64 total_mass, const f64[:, ::1] work, i64 n_outputs, i64 criterion, f64 least) noexcept nogil

@cython.locals(nearer_halves=bint)
cdef inline bint is_ahead(f64 merit, f64 left_mass, f64 total, f64 tie, f64 best, f64 best_mass) noexcept nogil

@cython.locals(a=i64)
cdef (f64, f64, f64) scan_steps_single(const f64[:, ::1] atoms, i64 n, const f64[::1] lows, const f64[::1] highs, f64 total, f64 total_sum, f64 min_mass, f64 tie) noexcept nogil

@cython.locals(k=i64)
cdef void place_lines(const f64[:, ::1] atoms, i64 n, f64 lo, f64 hi, f64 h, f64[:, ::1] lines) noexcept nogil

@cython.locals(begun=i64, ended=i64, is_start=i64, k=i64, side=i64)
cdef (f64, f64, f64) scan_box_single(const f64[:, ::1] atoms, i64 n, const f64[::1] lows, const f64[::1] highs, f64 lo, f64 hi, f64 h, f64 min_mass, f64 tie, f64[:, ::1] lines) noexcept nogil

@cython.locals(a=i64, o=i64)
cdef void sum_atoms(const f64[:, ::1] atoms, i64 n, i64 n_outputs, f64[:, ::1] work) noexcept nogil

@cython.locals(a=i64, o=i64)
cdef (f64, f64, f64) _scan_steps(const f64[:, ::1] atoms, i64 n, const f64[::1] lows, const f64[::1] highs, f64 total, i64 n_outputs, f64 min_mass, f64 tie, i64 criterion, f64[:, ::1] work) noexcept nogil

@cython.locals(o=i64)
cdef f64 _merit_at_least(f64 goal, f64 left_mass, f64 slope_mass, f64 total, f64[:, ::1] work, i64 n_outputs, i64 criterion) noexcept nogil

@cython.locals(begun=i64, ended=i64, is_gap=bint, is_start=i64, k=i64, o=i64, side=i64)
cdef (f64, f64, f64) _scan_slopes(const f64[:, ::1] atoms, i64 n, (f64, f64) interval, f64 total, i64 n_outputs, f64 min_mass, f64 tie, i64 criterion, const f64[:, ::1] lines, f64[:, ::1] work) noexcept nogil

@cython.locals(a=i64, o=i64)
cdef (f64, f64, f64) scan_box(const f64[:, ::1] atoms, i64 n, const f64[::1] lows, const f64[::1] highs, (f64, f64) interval, f64 h, f64 min_mass, f64 tie, i64 criterion, i64 n_outputs, f64[:, ::1] lines, f64[:, ::1] work) noexcept nogil
