cdef packed struct Node:
    i32 parent
    i32 side
    i32 depth
    i32 feature
    f64 threshold
    f64 missing_left
    f64 mass
    f64 square


cdef struct Rules:
    i64 max_depth
    f64 min_mass
    f64 min_gain
    i64 n_draw
    f64 cutoff
    bint is_class
    f64 rare_mass


cdef class NodeScratch:
    cdef f64[:, ::1] points
    cdef i32[::1] labels
    cdef u32[::1] left_rows
    cdef f64[::1] left_shares
    cdef i64[::1] order
    cdef i32[::1] numbers
    cdef f64[::1] totals


cdef class Knots:
    cdef f64[::1] times
    cdef f64[::1] rates
    cdef i64[::1] owners
    cdef i64[:, ::1] orders
    cdef f64[::1] open_rates
    cdef f64[:, ::1] cells
    cdef f64[:, ::1] atoms


cdef class Search:
    cdef f64[:, :, ::1] tables
    cdef u64[::1] words
    cdef u64[::1] groups
    cdef f64[:, ::1] atoms
    cdef f64[:, ::1] lines
    cdef f64[:, ::1] work
    cdef const u8[::1] stop
    cdef SubsetSpace subset
    cdef Knots knots


cdef class RandomSearch:
    cdef code[::1] codes
    cdef f64[::1] bin_shares
    cdef f64[::1] shares
    cdef f64[:, ::1] work
    cdef i64[::1] ranks
    cdef u32[:, ::1] subset
