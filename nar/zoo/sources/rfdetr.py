"""The detectors of RF-DETR: of boxes, of masks, of keypoints."""

from nar.zoo.sources.tables import table_source

RFDETR = table_source("rfdetr", licence="Apache-2.0", example="RF-DETR/nano")
