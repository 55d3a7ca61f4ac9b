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


cdef struct Settings:
    f64 grace_period
    f64 delta
    f64 tau
    f64 max_depth
    f64 max_inner
    f64 min_branch_fraction
    f64 max_share_to_split
    f64 split_criterion
    f64 leaf_prediction
    f64 model_selector_decay
    f64 learning_rate
    f64 gamma
    f64 alpha
    f64 batch_size
    f64 scaler_memory
    f64 bias
    f64 min_share
    f64 weigh_by_share
    f64 leaf_init
    f64 gate_init
    f64 alpha_learning_rate
    f64 alpha_pull
    f64 recheck_period
    f64 outlier_limit
    f64 count_period
    f64 merit_range
    f64 deeper_for_classes
    f64 drift_delta
    f64 restart_rise
    f64 unseen_values
    f64 many_ways
    f64 judges_copies
    f64 small_error
    f64 least_growth
    f64 inherited_weight


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
    cdef f64[:, :, ::1] parent


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
    cdef f64[::1] tests
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
    cdef const i64[::1] n_values
    cdef i64 most_tests


cdef struct FoundTest:
    i64 feature
    f64 threshold
    f64 merit
    f64 second
    bint is_many


cdef struct Learned:
    i64 n_rows
    bint is_alarm
    i64 n_events
