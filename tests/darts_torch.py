"""The CIFAR-10 network of Liu et al. (2018) in torch: what parameters and operations must equal."""

import torch
from torch import Tensor, nn

from nar.zoo.sources.darts.genotypes import Cell, Genotype

CHANNELS, CELLS, REDUCTIONS, CLASSES = 36, 20, (6, 13), 10


def norm(channels: int) -> nn.Module:
    return nn.BatchNorm2d(channels)


def pointwise(inputs: int, outputs: int, stride: int = 1) -> list[nn.Module]:
    layer = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
    return [nn.ReLU(), layer, norm(outputs)]


def depthwise(channels: int, kernel: int, stride: int, dilation: int) -> nn.Module:
    return nn.Conv2d(
        channels,
        channels,
        kernel,
        stride=stride,
        padding=dilation * (kernel // 2),
        dilation=dilation,
        groups=channels,
        bias=False,
    )


def operation(name: str, channels: int, stride: int) -> nn.Module:
    if name == "skip_connect":
        return nn.Identity() if stride == 1 else nn.Sequential(*pointwise(channels, channels, 2))
    kernel = int(name[-1])
    if name.startswith("max"):
        return nn.MaxPool2d(kernel, stride, padding=1)
    if name.startswith("avg"):
        return nn.AvgPool2d(kernel, stride, padding=1)
    parts: list[nn.Module] = []
    for step in (stride, 1) if name.startswith("sep") else (stride,):
        dilation = 2 if name.startswith("dil") else 1
        mixing = nn.Conv2d(channels, channels, 1, bias=False)
        parts += [nn.ReLU(), depthwise(channels, kernel, step, dilation), mixing, norm(channels)]
    return nn.Sequential(*parts)


class TorchCell(nn.Module):
    def __init__(self, cell: Cell, widths: tuple[int, int], channels: int, steps: tuple[int, int]):
        super().__init__()
        before_step, step = steps
        self.before = nn.Sequential(*pointwise(widths[0], channels, before_step))
        self.last = nn.Sequential(*pointwise(widths[1], channels))
        self.sources = [edge.source for node in cell.nodes for edge in node]
        self.operations = nn.ModuleList(
            operation(edge.operation, channels, step if edge.source < 2 else 1)
            for node in cell.nodes
            for edge in node
        )

    def forward(self, before: Tensor, last: Tensor) -> Tensor:
        values = [self.before(before), self.last(last)]
        pairs = iter(zip(self.sources, self.operations, strict=True))
        for (one, first), (other, second) in zip(pairs, pairs, strict=True):
            values.append(first(values[one]) + second(values[other]))
        return torch.cat(values[2:], dim=1)


class DartsNetwork(nn.Module):
    """Without auxiliary head and dropped paths."""

    def __init__(self, genotype: Genotype) -> None:
        super().__init__()
        stem = 3 * CHANNELS
        self.stem = nn.Sequential(nn.Conv2d(3, stem, 3, padding=1, bias=False), norm(stem))
        widths, channels, halved = (stem, stem), CHANNELS, False
        self.cells = nn.ModuleList()
        for number in range(CELLS):
            reduces = number in REDUCTIONS
            channels *= 1 + reduces
            cell = genotype.reduction if reduces else genotype.normal
            # The value before a reduction is twice as large as the one behind it.
            steps = (1 + halved, 1 + reduces)
            self.cells.append(TorchCell(cell, widths, channels, steps))
            widths, halved = (widths[1], 4 * channels), reduces
        self.classifier = nn.Linear(widths[1], CLASSES)

    def forward(self, image: Tensor) -> Tensor:
        before = last = self.stem(image)
        for cell in self.cells:
            before, last = last, cell(before, last)
        return self.classifier(last.mean(dim=(2, 3)))
