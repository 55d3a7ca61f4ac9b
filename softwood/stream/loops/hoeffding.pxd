@cython.locals(found=i64)
cdef i64 room(TreeNodes tree, Statistics statistics) noexcept nogil

cdef bint has_room(TreeNodes tree, Statistics statistics, i64 n_tests) noexcept nogil

@cython.locals(j=i64, n_tests=i64, slot=i64)
cdef i64 n_tests_of(i64 leaf, f64 weight, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil

@cython.locals(goes_left=bint, node=i64)
cdef i64 find_leaf(const f64[:, ::1] points, i64 i, TreeNodes tree) noexcept nogil

@cython.locals(c=i64, child=i64, e=i64, is_leaf=bint, side=i64)
cdef void put_test(i64 node, FoundTest test, f64 bound, f64 seen, TreeNodes tree, Statistics statistics) noexcept nogil

@cython.locals(i=i64, label=i64, majority=i64)
cdef (f64, f64, i64) weigh_classes(i64 node, TreeNodes tree, ClassNodes classes) noexcept nogil

@cython.locals(i=i64, n=i64)
cdef void add_class(i64 node, i64 label, f64 weight, TreeNodes tree, ClassNodes classes) noexcept nogil

@cython.locals(guess=i64, k=i64, label=i64, n_keys=i64, slot=i64)
cdef i64 bayes_probabilities(const f64[:, ::1] points, i64 i, i64 leaf, f64 total, TreeNodes tree, ClassNodes classes, Statistics statistics, f64[:, ::1] out, i64 row) noexcept nogil

@cython.locals(guess=i64, k=i64, n_classes=i64)
cdef i64 leaf_probabilities(const f64[:, ::1] points, i64 i, i64 leaf, TreeNodes tree, ClassNodes classes, Statistics statistics, f64[:, ::1] out, i64 row) noexcept nogil

@cython.locals(i=i64, leaf=i64)
cdef void predict_classes(Rows rows, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil

@cython.locals(is_model=bint, is_plain=bint, label=i64, majority=i64, slot=i64)
cdef f64 judge(Rows rows, i64 i, i64 leaf, i64 guess, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil

@cython.locals(guess=i64, has_out=bint, i=i64, is_alarm=bint, label=i64, leaf=i64, node=i64, slot=i64)
cdef Learned learn_classes(Rows rows, i64 start, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil

cdef f64 due_after(i64 leaf, TreeNodes tree) noexcept nogil

cdef bint is_time(i64 leaf, f64 seen, TreeNodes tree) noexcept nogil

@cython.locals(i=i64, inherits=bint, is_sound=bint, most_tests=i64, n_present=i64, slot=i64)
cdef void try_class_split(i64 leaf, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil

@cython.locals(i=i64, is_category=bint, label=i64)
cdef void split_leaf(i64 leaf, i64 slot, FoundTest test, f64 bound, f64 seen, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil

@cython.locals(has_rest=bint, i=i64, j=i64, k=i64, label=i64, last=i64, n_features=i64, node=i64, source=i64)
cdef void split_categories(i64 leaf, i64 slot, FoundTest test, f64 bound, f64 seen, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil

@cython.locals(child=i64, side=i64)
cdef void open_leaves(i64 node, i64 feature, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil

@cython.locals(c=i64, i=i64, j=i64, k=i64, label=i64, slot=i64)
cdef void inherit_normals(i64 leaf, i64 feature, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil

@cython.locals(s=i64, slot=i64)
cdef i64 slot_for(i64 leaf, TreeNodes tree, ClassNodes classes, Statistics statistics) noexcept nogil
