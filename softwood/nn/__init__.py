"""Soft trees as PyTorch modules (extra ``torch``).

`TreeLayer` is a layer of complete trees, `TreeModule` a fitted tree or forest of any family as a module, and
`GrowingTreeLayer` the soft Hoeffding tree as a layer that grows while it is trained. Importing softwood does not import
torch; importing this package does.
"""

from softwood.core.extras import require

require("torch", "torch", "softwood.nn")

from softwood.nn.growing import GrowingTreeLayer  # noqa: E402
from softwood.nn.layer import TreeLayer  # noqa: E402
from softwood.nn.module import TreeModule  # noqa: E402

__all__ = ["GrowingTreeLayer", "TreeLayer", "TreeModule"]
