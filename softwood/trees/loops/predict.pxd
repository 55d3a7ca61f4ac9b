cdef packed struct Gate:
    f64 low
    f64 high
    u32 feature
    u32 left
    u32 right
    u32 kernel


cdef packed struct Item:
    i64 row
    f64 share


cdef class KernelTrees:
    cdef const Gate[::1] gates
    cdef const f64[::1] missing_left
    cdef const f64[::1] thresholds
    cdef const f64[::1] widths
    cdef const f64[:, ::1] edges
    cdef const f64[:, ::1] cdfs
    cdef bint only_boxes
    cdef const u32[:, ::1] subsets


cdef class Lists:
    cdef Item[::1] items
    cdef Item[::1] spare
    cdef i64[:, ::1] frames
    cdef i64[:, ::1] bounds


@cython.locals(at=i64, below=i64, lane=i64, moving=bint, side=i64)
cdef inline void go_down(const f64[:, ::1] points, i64 begin, i64 lanes, i64 root, const u32[:, ::1] tests, const f64[::1] thresholds, const u32[:, ::1] subsets, u32[::1] node) noexcept nogil

@cython.locals(begin=i64, lane=i64, lanes=i64, node="u32[::1]")
cdef void crisp_leaves_fast(const f64[:, ::1] points, const u32[:, ::1] tests, const f64[::1] thresholds, const u32[:, ::1] subsets, i32[::1] out) noexcept nogil

@cython.locals(back=i64, is_left=bint, is_right=bint, k=i64, n_left=i64, n_right=i64)
cdef (i64, i64) partition(const f64[:, ::1] points, i64 j, f64 low, f64 high, Item[::1] items, i64 start, i64 stop, Item[::1] spare) noexcept nogil

@cython.locals(back=i64, is_known=bint, is_left=bint, k=i64, n_left=i64, n_right=i64)
cdef (i64, i64) partition_by_set(const f64[:, ::1] points, i64 j, const u32[:, ::1] subsets, i64 node, Item[::1] items, i64 start, i64 stop, Item[::1] spare) noexcept nogil

@cython.locals(back=i64, has_own=bint, is_left=bint, is_right=bint, k=i64, kernel=i64, n_left=i64, n_right=i64, row=i64)
cdef (i64, i64) partition_cells(const f64[:, ::1] points, const f64[:, ::1] cells, i64 j, i64 node, KernelTrees trees, Item[::1] items, i64 start, i64 stop, Item[::1] spare) noexcept nogil

cdef f64 mass_below(f64 x, f64 width, i64 node, KernelTrees trees) noexcept nogil

@cython.locals(frame=i64)
cdef f64 far_end(i64 side, i64 j, const f64[::1] thresholds, const i64[:, ::1] frames, const i64[:, ::1] bounds) noexcept nogil

@cython.locals(frame=i64)
cdef f64 bound_mass(i64 side, f64 x, f64 width, i64 j, KernelTrees trees, const i64[:, ::1] frames, const i64[:, ::1] bounds) noexcept nogil

@cython.locals(j=i64, k=i64, last=i64, only_boxes=bint, row=i64)
cdef (i64, i64) divide(const f64[:, ::1] points, const f64[:, ::1] cells, i64 node, i64 begin, i64 n_left, i64 n_right, i64 n_between, KernelTrees trees, Lists lists) noexcept nogil

@cython.locals(begin=i64, end=i64, j=i64, node=i64, top=i64, which=i64)
cdef (i64, i64, i64, i64) next_list(const Gate[::1] gates, i64[:, ::1] frames, i64[:, ::1] bounds, i64 height) noexcept nogil

@cython.locals(by_set=bint, goes_left=bint, height=i64, j=i64, k=i64, n=i64, n_between=i64, n_left=i64, n_right=i64, node=i64, o=i64, row=i64, side=i64, start=i64, stop=i64)
cdef void add_block(const f64[:, ::1] points, const f64[:, ::1] cells, i64 begin, i64 end, i64 root, KernelTrees trees, Lists lists, const f64[:, ::1] value, i64 first, f64[:, ::1] out) noexcept nogil

@cython.locals(begin=i64, end=i64, i=i64, j=i64, k=i64, part="const f64[:, ::1]", sums="f64[:, ::1]", t=i64, widths="const f64[:, ::1]")
cdef void add_kernel_trees(const f64[:, ::1] points, const f64[:, ::1] cells, const i64[::1] numbers, const i64[::1] offsets, const i32[::1] output, i64 block, KernelTrees trees, Lists lists, const f64[:, ::1] value, f64[:, ::1] copy, f64[:, ::1] out) noexcept nogil

@cython.locals(begin=i64, first=i64, lane=i64, lanes=i64, n=i64, node="u32[::1]", k=i64, o=i64, t=i64)
cdef void add_crisp_trees(const f64[:, ::1] points, const i64[::1] numbers, const i64[::1] offsets, const i32[::1] output, const u32[:, ::1] tests, const f64[::1] thresholds, const u32[:, ::1] subsets, const f64[:, ::1] value, f64[:, ::1] out) noexcept nogil

