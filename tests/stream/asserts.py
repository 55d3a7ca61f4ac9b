"""What is asked of all kinds of trees on streams in the same way."""

import numpy as np

from tests.stream.test_model import answer, learn, problem, small


def assert_limits_of_nodes_and_depth_are_kept(model_class, n):
    X, y = problem(model_class, n=n)
    for n_inner in (0, 1, 5):
        model = learn(small(model_class, max_inner_nodes=n_inner, max_depth=7), X, y)
        assert model.tree_.n_nodes == 2 * n_inner + 1
    for depth in (0, 1, 3):
        model = learn(small(model_class, max_depth=depth), X, y)
        assert model.get_depth() == depth
        assert np.isfinite(answer(model, X)).all()
