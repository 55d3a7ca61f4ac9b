"""The report: one HTML file about a model, which computes predictions and explanations in the browser.

The package is not called ``report``, because `softwood.report` is the function.
"""
