"""Explanations of fitted models: Shapley values, certificates, contributions, rules, text."""
