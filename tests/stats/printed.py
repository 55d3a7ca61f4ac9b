"""Scores and statistics as printed in papers."""

import pandas as pd

# Demšar 2006, table 6: areas under the ROC curve of four variants of C4.5. In print, the last two of the set voting are
# both 0.975; the average ranks in the table distinguish them.
DEMSAR = pd.DataFrame(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)

# One-Stage Tree (Xu et al. 2022), table 2: accuracies. The soft tree that failed on one set counts as the worst there.
ONE_STAGE = pd.DataFrame(
    [
        [75.97, 30.52, 68.54, 81.82],
        [58.52, 83.33, 82.32, 79.26],
        [70.50, 29.00, 71.00, 75.70],
        [92.96, 66.58, 87.45, 93.24],
        [82.53, 21.62, 78.37, 82.74],
        [59.74, 66.23, 59.07, 66.93],
        [58.31, 42.50, 51.90, 61.38],
        [50.41, float("-inf"), 41.48, 53.82],
        [91.21, 75.53, 75.31, 93.25],
        [79.71, 65.74, 67.26, 85.07],
        [80.00, 87.27, 90.00, 90.00],
        [65.81, 70.09, 64.81, 83.87],
        [81.96, 13.73, 86.27, 88.24],
    ],
    columns=["CART", "soft tree", "End2End", "One-Stage"],
)
