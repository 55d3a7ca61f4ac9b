"""A table with text, categories, numbers and missing cells, used without an encoder, scaler or imputer."""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from softwood import KernelTreeClassifier, export_text


def make_table(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series]:
    frame = pd.DataFrame(
        {
            "age": rng.normal(45, 15, n).clip(18, 90),
            "income": rng.lognormal(10, 0.5, n).round(-2),
            "city": rng.choice(["Lima", "Oslo", "Pune", "Rome"], n),
            "plan": pd.Categorical(rng.choice(["free", "basic", "full"], n, p=[0.5, 0.3, 0.2])),
            "visits": pd.array(rng.poisson(3, n), dtype="Int64"),
        }
    )
    score = (frame["age"] - 45) / 15 + 1.5 * (frame["plan"] == "full") - (frame["city"] == "Oslo") + rng.normal(0, 1, n)
    for column in frame:  # a tenth of the cells of each column are missing
        frame.loc[rng.random(n) < 0.1, column] = None
    return frame, pd.Series(np.where(score > 0.3, "stays", "goes"))


def main() -> None:
    X, y = make_table(1000, np.random.default_rng(0))
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    model = KernelTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X_train, y_train)
    print(f"accuracy {model.score(X_test, y_test):.3f}, bandwidth {model.bandwidth_:.2f} standard deviations\n")
    print(export_text(model, max_depth=2, decimals=2), "\n")
    for name, importance in zip(model.feature_names_in_, model.feature_importances_, strict=True):
        print(f"{name:8} {importance:.3f}")

    # A row with a missing value is shared between the branches in the proportion of the training rows.
    row = X_test.dropna().head(1)
    for lost in ([], ["plan"], ["plan", "age"]):
        p = model.predict_proba(row.assign(**dict.fromkeys(lost)))[0]
        print(
            f"\nwithout {' and '.join(lost) or 'loss'}: " + ", ".join(map("{} {:.2f}".format, model.classes_, p)),
            end="",
        )
    print()


if __name__ == "__main__":
    main()
