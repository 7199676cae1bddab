"""CUDA kernels, compiled at first use (``compiler``) and launched on torch's stream (``gpu``)."""
