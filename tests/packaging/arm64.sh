#!/bin/bash
# Builds libebb for arm64 with Debian's cross compiler. Nothing is run: this machine may have no emulator.
#   arm64.sh SCRATCH-DIRECTORY
set -eu
cd "$(dirname "$0")/../.."
cmake -G Ninja -S . -B "$1" -DEBB_TESTS=OFF \
	-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-gcc \
	-DCMAKE_CXX_COMPILER_WORKS=1 -DCMAKE_OBJCOPY=aarch64-linux-gnu-objcopy >/dev/null
cmake --build "$1" -j 1 --target ebb_shared --target ebb_static
file=$(find "$1" -name libebb.so)
aarch64-linux-gnu-readelf -h "$file" | grep -q AArch64
