"""Which cultivar is this wine, and how far can the laboratory be off? Ends in an interactive page, wine.html."""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from softwood import KernelTreeClassifier, report
from softwood.explanations import certified_radius, shapley_values


def main() -> None:
    data = load_wine(as_frame=True)
    cultivar = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
    X, X_test, y, y_test = train_test_split(data.data, cultivar, test_size=60, random_state=0, stratify=cultivar)
    model = KernelTreeClassifier(max_leaf_nodes="small", random_state=0).fit(X, y)
    print(f"{model.get_n_leaves()} leaves, {model.score(X_test, y_test):.0%} of the test wines are recognised\n")

    # The wine whose cultivar is the least certain
    wine = X_test.iloc[[model.predict_proba(X_test).max(axis=1).argmin()]]
    name, probability = model.predict(wine)[0], model.predict_proba(wine).max()
    print(f"the least certain wine: {name} with probability {probability:.0%}")
    values = shapley_values(model, wine).values[0, :, model.classes_.tolist().index(name)]
    limits = certified_radius(model, wine).reach[0]
    print("column                          reading   part   can be off by")
    for j in np.argsort(-np.abs(values))[:5]:
        column = X.columns[j]
        print(f"{column:30}  {wine[column].item():7.4g}  {values[j]:+.2f}  {limits[j]:.2g}")

    # One file without any address in it: sliders, flow, explanations and certificates that follow them
    page = report(model, "wine.html", X=X_test, y=y_test, rows=wine)
    print(f"\nwine.html: {len(page.html) / 1000:.0f} kB; open it in a browser")


if __name__ == "__main__":
    main()
