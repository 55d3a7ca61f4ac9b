"""Other people's trees: fitted models of scikit-learn, LightGBM and XGBoost as `SoftTree` and `SoftForest`.

Each module reads the models of one package and gives an `ImportedModel`. Packages are not imported: scikit-learn's
models are read by their attributes, the others by the JSON that they write of themselves.
"""
