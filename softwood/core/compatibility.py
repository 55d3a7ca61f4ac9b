"""What differs between the versions of scikit-learn, from 1.6 on.

The callbacks of scikit-learn came with 1.9. Under earlier versions, estimators have no `set_callbacks`; the steps of a
fit are printed with `verbose` and kept in ``history_`` as they are with callbacks.
"""

from typing import Any, TypeVar

__all__ = ["CallbackSupportMixin", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ModuleNotFoundError:
    Method = TypeVar("Method")

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """In place of scikit-learn's class: an estimator without callbacks."""

        def _init_callback_context(self, **description: Any) -> None:
            """There is no context: steps are not reported."""

    def with_callbacks(fit: Method) -> Method:
        """In place of scikit-learn's decorator: the method as it is."""
        return fit
