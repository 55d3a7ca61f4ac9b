"""Made-up folds, as the script of table 2 writes them."""


def made_up_folds(accuracies):
    """Lines of folds from a dict: (data set, column) -> a list of repeats, each a list of accuracies."""
    return [
        {
            "data_set": data_set, "column": column, "repeat": repeat, "fold": fold,
            "accuracy": accuracy, "parameter": 0.1 * (fold + 1), "seconds": 2.0,
        }
        for (data_set, column), repeats in accuracies.items()
        for repeat, folds in enumerate(repeats)
        for fold, accuracy in enumerate(folds)
    ]  # fmt: skip
