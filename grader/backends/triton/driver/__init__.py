"""The Triton driver of a worker without a GPU: it compiles to TTIR and sends launches away."""
