"""Trees on an NVIDIA GPU: kernels in CUDA, compiled at first use (``compiler``), launched on torch's stream (``gpu``)."""
