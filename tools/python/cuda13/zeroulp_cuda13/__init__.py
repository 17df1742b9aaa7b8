"""The kernels that zeroulp.torch calls for tensors on a GPU, by CUDA 13: the path
of their library."""

import pathlib

library = str(pathlib.Path(__file__).absolute().parent / "libzeroulp_cuda.so")
