cdef i64 bucket_place(const f64[::1] state, i64 level, i64 k) noexcept nogil

@cython.locals(count=i64, k=i64, of=i64, to=i64)
cdef void drop_buckets(f64[::1] state, i64 level, i64 n) noexcept nogil

@cython.locals(at=i64, level=i64, new=i64, one=i64, two=i64)
cdef void add_to_window(f64[::1] state, f64 x) noexcept nogil

@cython.locals(at=i64, level=i64)
cdef void forget_oldest(f64[::1] state) noexcept nogil

@cython.locals(k=i64, level=i64)
cdef bint has_cut(const f64[::1] state) noexcept nogil

@cython.locals(k=i64)
cdef void clear_adwin(f64[::1] state) noexcept nogil

@cython.locals(is_cut=bint, risen=bint)
cdef i64 update_adwin(f64[::1] state, f64 x) noexcept nogil

@cython.locals(k=i64)
cdef void clear_page_hinkley(f64[::1] state) noexcept nogil

@cython.locals(falls=bint, rises=bint)
cdef i64 update_page_hinkley(f64[::1] state, f64 x) noexcept nogil

@cython.locals(k=i64)
cdef void clear_ddm(f64[::1] state) noexcept nogil

@cython.locals(found=i64)
cdef i64 update_ddm(f64[::1] state, f64 x) noexcept nogil

@cython.locals(i=i64)
cdef void scan_adwin(f64[::1] state, const f64[::1] values, i64[::1] out) noexcept nogil

@cython.locals(i=i64)
cdef void scan_page_hinkley(f64[::1] state, const f64[::1] values, i64[::1] out) noexcept nogil

@cython.locals(i=i64)
cdef void scan_ddm(f64[::1] state, const f64[::1] values, i64[::1] out) noexcept nogil

