cdef packed struct Slot:
    i64 feature
    f64 threshold
    f64 missing_left
    f64 low
    f64 high


cdef class Members:
    cdef const u32[::1] rows
    cdef const f64[::1] shares
    cdef const i64[::1] begins


cdef class DivideSpace:
    cdef u32[::1] rows
    cdef f64[::1] shares
    cdef f64[::1] parts


@cython.locals(by_set=bint, c=i64, j=i64, kind=i64, n_bins=i64, offset=i64)
cdef void share_bins(Bins bins, const f64[::1] widths, Kernels kernels, const Slot[::1] slots, const u32[:, ::1] subsets, i64 slot, f64[::1] parts) noexcept nogil

@cython.locals(begin=i64, end=i64, i=u32, is_left=bint, k=i64, n_left=i64, n_right=i64)
cdef (i64, i64) divide_slot(const code[:, ::1] codes, i64 j, Members members, i64 slot, f64 cutoff, u32[::1] new_rows, f64[::1] new_shares, i64 at, DivideSpace space) noexcept nogil

@cython.locals(begin=i64, end=i64, k=i64)
cdef void copy_slot(Members members, i64 slot, u32[::1] new_rows, f64[::1] new_shares, i64 at) noexcept nogil

@cython.locals(at=i64, j=i64, middle=i64, n=i64, slot=i64)
cdef void divide_slots(Bins bins, const f64[::1] widths, Kernels kernels, const Slot[::1] slots, const u32[:, ::1] subsets, f64 cutoff, Members members, u32[::1] new_rows, f64[::1] new_shares, i64[::1] new_begins, DivideSpace space) noexcept nogil

@cython.locals(begin=i64, end=i64, k=i64, slot=i64)
cdef void add_slot_values(Members members, const f64[::1] slot_values, f64[::1] scores) noexcept nogil
