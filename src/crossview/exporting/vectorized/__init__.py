"""SQL and ONNX: models as arithmetic on vectors, without loops per row."""
