"""Edits of whole DARTS genotypes, spelled out: what the tables of sampling are held against."""

from dataclasses import replace

from nar.zoo.sources.darts.genotypes import NODES, Cell, Genotype
from nar.zoo.sources.darts.sampling import node_edits


def edited_genotypes(genotype: Genotype) -> list[Genotype]:
    """The genotypes one edit away: of the normal cell, then of the reduction cell, node by node."""
    normals = [replace(genotype, normal=cell) for cell in _edited_cells(genotype.normal)]
    return normals + [
        replace(genotype, reduction=cell) for cell in _edited_cells(genotype.reduction)
    ]


def _edited_cells(cell: Cell) -> list[Cell]:
    return [
        Cell((*cell.nodes[:number], node, *cell.nodes[number + 1 :]))
        for number in range(NODES)
        for node in node_edits(cell.nodes[number], number)
    ]
