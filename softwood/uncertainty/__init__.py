"""What a model does not know: intervals, sets and distributions from the errors on rows that it did not learn from.

The mechanism is the same in all families. Errors on held-out rows are divided by an estimate of the local spread. Of
these scores, a weighted quantile with the correction for finite samples of conformal prediction gives the ends of
intervals, all quantiles give a distribution, and scores of classes give sets.
"""
