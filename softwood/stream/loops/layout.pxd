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


cdef class Settings:
    cdef f64 grace_period
    cdef f64 delta
    cdef f64 tau
    cdef f64 max_depth
    cdef f64 max_inner
    cdef f64 min_branch_fraction
    cdef f64 max_share_to_split
    cdef f64 split_criterion
    cdef f64 leaf_prediction
    cdef f64 model_selector_decay
    cdef f64 learning_rate
    cdef f64 gamma
    cdef f64 alpha
    cdef f64 batch_size
    cdef f64 scaler_memory
    cdef f64 bias
    cdef f64 min_share
    cdef f64 weigh_by_share
    cdef f64 leaf_init
    cdef f64 gate_init
    cdef f64 alpha_learning_rate
    cdef f64 alpha_pull
    cdef f64 recheck_period
    cdef f64 outlier_limit
    cdef f64 count_period
    cdef f64 merit_range
    cdef f64 deeper_for_classes
    cdef f64 drift_delta
    cdef f64 restart_rise


cdef class TreeNodes:
    cdef i64[:, ::1] nodes
    cdef f64[:, ::1] numbers
    cdef i64[::1] counters
    cdef Settings settings
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
