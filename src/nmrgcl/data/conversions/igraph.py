"""Read igraph graphs, without importing igraph."""

from typing import Any

from nmrgcl.data.assemble import Listing
from nmrgcl.data.chosen import Chosen
from nmrgcl.data.conversions.attributes import MemoryGraphs


def igraph_listing(graphs: list[Any], chosen: Chosen) -> Listing:
    """List the graphs; the vertex attribute ``name`` identifies nodes in igraph, so it is not a feature."""
    found = MemoryGraphs(chosen)
    for graph in graphs:
        found.add_graph({name: graph[name] for name in graph.attributes()})
        both = not graph.is_directed()
        for node in graph.vs:
            found.add_node(node.index, {k: v for k, v in node.attributes().items() if k != "name"})
        for edge in graph.es:
            found.add_edge(edge.source, edge.target, both, edge.attributes())
    return found.listing()
