cdef packed struct Node:
    i32 parent
    i32 side
    i32 depth
    i32 feature
    f64 threshold
    f64 missing_left
    f64 mass
    f64 square


cdef struct Goal:
    f64 total
    f64 base
    f64 min_mass
    f64 tie
    i64 n_outputs
    f64 rare_mass


cdef class Bins:
    cdef const u32/u8[:, ::1] codes
    cdef const f64[::1] values
    cdef const f64[::1] lows
    cdef const f64[::1] highs
    cdef const i64[::1] offsets
    cdef const i64[::1] priority
    cdef const i64[::1] n_categories
    cdef const f64[:, ::1] points


cdef class Kernels:
    cdef const i64[::1] kinds
    cdef const f64[:, ::1] edges
    cdef const f64[:, ::1] cdfs
    cdef const f64[:, ::1] cells
    cdef const u8[::1] by_cell


cdef class NodePoints:
    cdef const u32[::1] rows
    cdef i64 begin
    cdef i64 size
    cdef const f64[:, :] points
    cdef const i64[::1] order
    cdef i64 n_draw


cdef class SubsetSpace:
    cdef f64[::1] keys
    cdef i64[::1] order
    cdef i64[::1] ranks
    cdef const u32[:, ::1] found


cdef class RandomSearch:
    cdef u8[::1] codes
    cdef f64[::1] bin_shares
    cdef f64[::1] shares
    cdef f64[::1] work
    cdef u32[:, ::1] subset


cdef class Targets:
    cdef const f64[::1] weights
    cdef const f64[:, ::1] matrix
    cdef const f64[::1] squares


cdef class Desk:
    cdef f64[:, :] points
    cdef i32[::1] labels
    cdef u32[::1] left_rows
    cdef f64[::1] left_shares
    cdef i64[::1] order
    cdef i32[::1] numbers
    cdef f64[::1] totals


cdef class Search:
    cdef f64[:, :, ::1] tables
    cdef u64[::1] words
    cdef u64[::1] groups
    cdef f64[:, ::1] atoms
    cdef f64[:, ::1] lines
    cdef f64[:, ::1] work
    cdef const u8[::1] stop
    cdef SubsetSpace subset


cdef struct Rules:
    i64 max_depth
    f64 min_mass
    f64 min_gain
    i64 n_draw
    f64 cutoff
    bint is_class
    f64 rare_mass


cdef class Pile:
    cdef i64[::1] state
    cdef const u8[::1] stop
    cdef Node[::1] lines
    cdef const f64[:, ::1] sums
    cdef const i64[:, ::1] stack
    cdef const u64[::1] seeds
    cdef const f64[:, :, ::1] intervals
    cdef u32[::1] rows
    cdef const f64[::1] shares
    cdef u32[:, ::1] subsets


