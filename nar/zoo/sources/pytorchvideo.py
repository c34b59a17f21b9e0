"""The networks of PyTorchVideo's model zoo: what happens in a video?"""

from nar.zoo.sources.tables import table_source

PYTORCHVIDEO = table_source("pytorchvideo", licence="Apache-2.0", example="SlowFast/r50_8x8")
