"""Very deep convolutional networks (Simonyan and Zisserman, 2014), 13 layers for small images."""

import torch
from torch import nn

PLAN = (64, 64, "M", 128, 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M")


class VGG(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        layers, before = [], 3
        for width in PLAN:
            if width == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
                before = width
        self.features = nn.Sequential(*layers)
        self.fc = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, classes))

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def asked():
    return VGG(), (torch.zeros(1, 3, 32, 32),)
