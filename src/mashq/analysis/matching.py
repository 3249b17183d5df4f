"""Maximum matching in a general graph (Edmonds' blossom algorithm)."""

from collections import deque
from collections.abc import Sequence


def matching(neighbours: Sequence[Sequence[int]]) -> list[int]:
    """Every vertex's partner in a maximum matching of an undirected graph, -1 for none."""
    partner = [-1] * len(neighbours)
    for vertex in range(len(neighbours)):
        if partner[vertex] == -1:
            _augment(vertex, neighbours, partner)
    return partner


def _augment(root: int, neighbours: Sequence[Sequence[int]], partner: list[int]) -> None:
    """Match the root too, if an alternating path from it ends at an unmatched vertex."""
    base = list(range(len(neighbours)))
    parent = [-1] * len(neighbours)
    outer = [False] * len(neighbours)
    outer[root] = True
    queue = deque([root])
    while queue:
        vertex = queue.popleft()
        for other in neighbours[vertex]:
            if base[vertex] == base[other] or partner[vertex] == other:
                continue
            if other == root or (partner[other] != -1 and parent[partner[other]] != -1):
                _shrink(vertex, other, base, parent, partner, outer, queue)
            elif parent[other] == -1:
                parent[other] = vertex
                if partner[other] == -1:
                    _flip(other, parent, partner)
                    return
                outer[partner[other]] = True
                queue.append(partner[other])


def _shrink(
    start: int,
    end: int,
    base: list[int],
    parent: list[int],
    partner: Sequence[int],
    outer: list[bool],
    queue: deque[int],
) -> None:
    """Contract an odd cycle (a blossom) into one vertex and continue the search from it."""
    stem = _common_ancestor(start, end, base, parent, partner)
    blossom = [False] * len(base)
    for vertex, child in ((start, end), (end, start)):
        while base[vertex] != stem:
            blossom[base[vertex]] = blossom[base[partner[vertex]]] = True
            parent[vertex] = child
            child = partner[vertex]
            vertex = parent[child]
    for vertex in range(len(base)):
        if blossom[base[vertex]]:
            base[vertex] = stem
            if not outer[vertex]:
                outer[vertex] = True
                queue.append(vertex)


def _common_ancestor(start: int, end: int, base: Sequence[int], parent: Sequence[int], partner: Sequence[int]) -> int:
    """The vertex at which the paths of two vertices to the root meet."""
    seen: set[int] = set()
    while True:
        start = base[start]
        seen.add(start)
        if partner[start] == -1:
            break
        start = parent[partner[start]]
    end = base[end]
    while end not in seen:
        end = base[parent[partner[end]]]
    return end


def _flip(end: int, parent: Sequence[int], partner: list[int]) -> None:
    """Swap matched and unmatched edges along the path from its end back to the root."""
    while end != -1:
        before = parent[end]
        after = partner[before]
        partner[end], partner[before] = before, end
        end = after
