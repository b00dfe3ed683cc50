"""nnfuzz: a fuzzer for neural networks. Start with `nnfuzz.loop`."""

__version__ = "0.1.0"
