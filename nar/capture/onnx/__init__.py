"""ONNX files: the graph only, never weights."""
