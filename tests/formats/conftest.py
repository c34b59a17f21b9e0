"""Scripts that write the files of this folder need exporters that the tests do not have."""

collect_ignore = ["make_keras.py", "make_openvino.py", "make_tflite.py"]
