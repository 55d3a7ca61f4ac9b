"""Trees trained by gradient descent: the soft decision tree, and the linear discriminant tree it was compared with."""
