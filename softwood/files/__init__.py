"""Files of fitted models: `softwood.save` and `softwood.load`.

A file holds plain arrays and one text in JSON, never code. `container` writes and checks the bytes and knows nothing of
models; `atomic` makes a file appear at once or not at all; `values` turns parameters and attributes into JSON and back;
`kinds` lists the classes that a file may hold. The modules `records`, `trees`, `estimators` and `streams` take these
classes apart, put them together, and check what they get, because a file may come from anywhere.
"""
