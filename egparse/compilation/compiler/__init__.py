"""From kernels to object code, by numba and LLVM. Imported only where something is compiled."""
