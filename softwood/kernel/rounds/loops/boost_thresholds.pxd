@cython.locals(after=i64, before=i64, n_bins=i64, offset=i64)
cdef f64 between_bins(const f64[:, :, ::1] table, i64 j, i64 c, Bins bins, f64 empty) noexcept nogil

@cython.locals(best=i64, c=i64, known="(f64, f64)", n_bins=i64)
cdef void scan_crisp(const f64[:, :, ::1] table, i64 j, Bins bins, (f64, f64, f64) total, (f64, f64, f64) start, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(c=i64, offset=i64)
cdef void set_rates(Bins bins, i64 j, (f64, f64) interval, const f64[::1] reach, f64[:, ::1] lines) noexcept nogil

@cython.locals(c=i64, offset=i64)
cdef f64 within_gap(f64 t, const f64[:, :, ::1] table, i64 j, Bins bins, const f64[::1] reach, f64 empty) noexcept nogil

@cython.locals(first=i64, half=i64, size=i64)
cdef i64 first_from(const f64[:, ::1] places, i64 j, i64 end, f64 x) noexcept nogil

@cython.locals(e=i64, n=i64)
cdef i64 list_edges(const f64[:, :, ::1] table, i64 j, const u32[:, ::1] kinds, i64 begin, i64 end, f64 empty, f64[:, ::1] lines) noexcept nogil

@cython.locals(c=i64, e=i64, is_end=i64, k=i64, kind=i64, n=i64, n_covering=i64)
cdef i64 left_sums(const f64[:, :, ::1] table, i64 j, Edges edges, i64 begin, i64 end, f64 lo, f64 empty, (f64, f64, f64) start, f64[:, ::1] lines) noexcept nogil

@cython.locals(begin=i64, e=i64, end=i64, first=i64, is_covered=bint, known="(f64, f64)", n=i64, n_bins=i64)
cdef void scan_boxes(const f64[:, :, ::1] table, i64 j, Bins bins, Edges edges, (f64, f64) interval, (f64, f64, f64) total, (f64, f64, f64) start, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(enough=bint)
cdef void scan_missing(const f64[:, :, ::1] table, i64 j, i64 n_bins, f64 above, (f64, f64, f64) total, Rules rules, (f64, f64, i64) limits, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(first=i64, has_missing=bint, last=i64, n_bins=i64, side=i64, start="(f64, f64, f64)", within="(f64, f64)")
cdef void search_feature(const f64[:, :, ::1] table, i64 j, Bins bins, Edges edges, (f64, f64) interval, (f64, f64, f64) total, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[:, ::1] out, i64 line) noexcept nogil
