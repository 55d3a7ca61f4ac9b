"""The order of the examples in the gallery: from one tree to many, then streams, then other tools."""

ORDER = (
    "smooth_or_steps",
    "choosing_size",
    "one_prediction",
    "messy_frame",
    "sensor_error",
    "smooth_regression",
    "ensembles",
    "wine_report",
    "soft_tree",
    "one_stage_tree",
    "forest_and_drift",
    "drifting_stream",
    "tree_head",
    "fine_tuned_tree",
    "dask_cluster",
)


class ReadingOrder:
    """Sort key of sphinx-gallery. An example that is missing above is an error."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        """Place of a file."""
        return ORDER.index(name.removesuffix(".py"))
