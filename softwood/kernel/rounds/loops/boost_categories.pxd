cdef i64 mix_bits(i64 x) noexcept nogil

@cython.locals(by_gradient=bint, c=i64, drawn=i64, n=i64, n_rare=i64)
cdef (i64, f64, f64, f64) order_categories(const f64[:, :, ::1] table, i64 j, i64 n_bins, f64 total_w, Rules rules, f64[::1] keys, i64[::1] order) noexcept nogil

cdef Rules stricter(Rules rules) noexcept nogil

@cython.locals(best=i64, c=i64, chosen=Rules, known="(f64, f64)", n=i64, r=i64)
cdef void scan_categories(const f64[:, :, ::1] table, i64 j, i64 n_bins, (f64, f64, f64) total, (f64, f64, f64) start, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[::1] keys, i64[::1] order, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(has_missing=bint, side=i64, start="(f64, f64, f64)")
cdef void search_category(const f64[:, :, ::1] table, i64 j, i64 n_bins, (f64, f64, f64) total, Rules rules, (f64, f64, i64) limits, f64[:, ::1] lines, f64[::1] keys, i64[::1] order, f64[:, ::1] out, i64 line) noexcept nogil

@cython.locals(absent_left=bint, before=i64, c=i64, last=i64, n=i64, n_bins=i64, of_rare=i64, r=i64)
cdef void set_subset(const f64[:, :, ::1] table, i64 j, Bins bins, f64 total_w, (f64, f64) split, Rules rules, f64[::1] keys, i64[:, ::1] ranks, u32[:, ::1] subsets, i64 line) noexcept nogil
