"""Convert graphs from and to other libraries, which are imported only when needed."""

from nmrgcl.data.conversions.geometric import from_pyg, to_pyg
from nmrgcl.data.conversions.nx import from_networkx, to_networkx

__all__ = ["from_networkx", "from_pyg", "to_networkx", "to_pyg"]
