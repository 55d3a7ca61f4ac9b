cdef packed struct Event:
    i64 kind
    i64 n_samples
    i64 node
    i64 feature
    f64 threshold
    f64 merit
    f64 second_merit
    f64 bound
    f64 weight_seen


cdef class Rows:
    cdef const f64[:, ::1] points
    cdef const i64[::1] labels
    cdef const f64[::1] targets
    cdef f64[::1] weights
    cdef f64[:, ::1] out


cdef class TreeNodes:
    cdef i64[:, ::1] nodes
    cdef f64[:, ::1] numbers
    cdef i64[::1] counters
    cdef const f64[::1] settings
    cdef f64[::1] detector


cdef class ClassNodes:
    cdef f64[:, ::1] counts
    cdef i64[:, ::1] keys
    cdef f64[:, ::1] prediction


cdef class RealNodes:
    cdef f64[:, ::1] models
    cdef f64[:, ::1] scaler


cdef class SoftNodes:
    cdef f64[:, :, ::1] gates
    cdef f64[:, :, ::1] values
    cdef f64[:, ::1] gate_slopes
    cdef f64[:, ::1] value_slopes
    cdef f64[:, ::1] scaler
    cdef f64[:, ::1] target_scaler
    cdef u64 seed


cdef class Path:
    cdef i64[:, ::1] places
    cdef f64[:, ::1] shares
    cdef f64[::1] x
    cdef f64[:, ::1] within
    cdef f64[:, ::1] slope


cdef class Statistics:
    cdef i64[:, ::1] slots
    cdef f64[:, :, :, ::1] stats
    cdef f64[:, ::1] seen
    cdef const i64[::1] is_category
    cdef Event[::1] events
    cdef f64[:, ::1] sides


cdef struct FoundTest:
    i64 feature
    f64 threshold
    f64 merit
    f64 second


cdef struct Learned:
    i64 n_rows
    bint is_alarm
    i64 n_events
