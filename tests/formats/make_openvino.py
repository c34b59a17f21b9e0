"""Writes the OpenVINO files of this folder with OpenVINO's own converter.

    pip install openvino && python make_openvino.py FOLDER

FOLDER has the ONNX files that `of_onnx` of ``twins.py`` writes, a design each. What a
reader does not need is left out.
"""

import re
import sys
from pathlib import Path

import openvino

HERE = Path(__file__).parent


# Spaces between elements, what the runtime notes, and names of values.
LEFT_OUT = re.compile(r"(?<=>)\s+(?=<)|<rt_info>.*?</rt_info>| names=\"[^\"]*\"", re.DOTALL)

for path in sorted(Path(sys.argv[1]).glob("*.onnx")):
    xml = HERE / f"{path.stem}.xml"
    openvino.save_model(openvino.convert_model(path), xml)
    xml.write_text(LEFT_OUT.sub("", xml.read_text()))
