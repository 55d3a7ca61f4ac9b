"""Files of fitted models: `softwood.save` and `softwood.load`.

A file holds plain arrays and one text in JSON, never code. `container` writes and checks the bytes and knows nothing of
models; `atomic` replaces a file at once or not at all; `values` turns parameters and attributes into JSON and back;
`kinds` lists the classes that a file may hold. The modules `records`, `estimators` and `streams` turn objects of these
classes into states, and states into objects. The constructors of the classes check the content, because a file may come
from anywhere; an error of a constructor becomes an `InvalidFileError` that names the place in the file.
"""
