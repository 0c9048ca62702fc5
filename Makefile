# SPDX-License-Identifier: Apache-2.0
# The front door: installs what is missing, builds with CMake in build/, and runs.
#
#   make          build
#   make test     build and run every test that this machine can run
#   make train    build and train a small model on real text (TRAIN_ITERS=n: n steps; TEXT=file)
#   make install  install below PREFIX (default /usr/local; DESTDIR is honoured)
#   make clean    remove what was built

PREFIX ?= /usr/local
JOBS   ?= 2

all: build

build:
	@bash scripts/build.sh

test:
	@bash scripts/build.sh tests
	ctest --test-dir build --output-on-failure -j$(JOBS)

train:
	@bash scripts/build.sh train
	@bash scripts/train.sh

install: build
	cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-debug build-asan build-tsan build-fuzz

.PHONY: all build test train install clean
