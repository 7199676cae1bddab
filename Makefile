# Everything runs in .venv, which each target creates. Needs python3 (>= 3.10), a C++20 compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(shell find native -name '*.[ch]pp' -o -name '*.c' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null)
PYTEST_WORKERS ?= 2
JOBS ?= 2
ZIG := ziglang==0.17.0
.DEFAULT_GOAL := help
.PHONY: help setup try test test-rest test-all test-long test-torch test-exchange test-ray test-browser test-native test-portability wheels test-wheel test-wheels lint format bench models experiments docs site web-module clean FORCE

help: ## list these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/.tools: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check "scikit-build-core>=0.11" "nanobind>=3.0,<4" typing_extensions
	@touch $@

# What runs is the working tree (an editable install); C++ is compiled again when a file under native/ changes. The install lists
# the Python files by name, so it is made again when one is added or taken away: .files changes then, and only then.
$(VENV)/.files: $(VENV)/.tools FORCE
	@find src -name '*.py' | sort | cmp -s - $@ || find src -name '*.py' | sort > $@

$(VENV)/.installed: $(VENV)/.tools $(VENV)/.files CMakeLists.txt $(NATIVE)
	$(BIN)/pip install -q --disable-pip-version-check --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-%: $(VENV)/.installed pyproject.toml
	$(BIN)/pip install -q --disable-pip-version-check --no-build-isolation -e '.[$*]'
	@touch $@

setup: $(VENV)/.installed ## install arcwise in .venv from the working tree

# A wheel of dist/ that fits this Python and was made of these sources is installed instead of compiling.
try: ## install arcwise and run a short demo
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@wheel=$$(test -f $(VENV)/.installed || $(BIN)/python release/fitting_wheel.py); \
	if [ -n "$$wheel" ]; then $(BIN)/pip install -q --disable-pip-version-check "$$wheel"; else $(MAKE) --no-print-directory setup; fi
	@$(BIN)/python -m arcwise.cli.demo

FAST := not slow and not process and not faults and not browser
test: $(VENV)/.installed-test ## install arcwise and run the fast tests (a few minutes)
	$(BIN)/pytest -n $(PYTEST_WORKERS) --dist worksteal -q -m "$(FAST)"

test-rest: $(VENV)/.installed-test ## run the tests that make test skips
	$(BIN)/pytest -n $(PYTEST_WORKERS) --dist worksteal -q -m "not ($(FAST))"

test-all: test test-rest ## run all tests

test-long: $(VENV)/.installed-test ## run all tests, exhaustively where make test-all samples (an hour)
	ARCWISE_LONG_TESTS=1 $(BIN)/pytest -n $(PYTEST_WORKERS) --dist worksteal -q

test-torch: $(VENV)/.installed-test $(VENV)/.installed-test-torch ## install torch and run the tests that need it
	$(BIN)/pytest -n $(PYTEST_WORKERS) --dist worksteal -q tests/torch_backend tests/neural tests/distillation tests/cli/test_first_hour.py src/arcwise/torch src/arcwise/neural src/arcwise/distillation docs/reference/torch.md docs/tutorials/a-parser-layer-in-pytorch.md docs/tutorials/train-a-neural-parser.md
	$(BIN)/pytest -n $(PYTEST_WORKERS) -q tests/contracts/test_agreement.py tests/papers/test_experiments.py -k "transformer or neural_objectives"

test-exchange: $(VENV)/.installed-test $(VENV)/.installed-test-exchange ## install spaCy, polars and datasets, and run the exchange tests
	$(BIN)/pytest -q tests/pipeline/test_exchange.py tests/pipeline/test_spacy.py tests/docs/test_exchange_page.py tests/treebanks/test_json.py

test-ray: $(VENV)/.installed-test $(VENV)/.installed-test-ray ## install Ray and run the tests on a cluster of two nodes
	$(BIN)/pytest -q tests/distributed/test_parser.py tests/engine/test_ray.py tests/engine/test_ray_training.py tests/distributed/test_ray_corpus.py tests/distributed/test_ray_data.py tests/induction/test_ray_search.py

test-browser: $(VENV)/.installed-test $(VENV)/.installed-test-browser web-module ## test the web pages in a real browser (Chromium, or ARCWISE_CHROMIUM)
	$(BIN)/pytest -n $(PYTEST_WORKERS) -q tests/web/browser

test-native: $(VENV)/.tools ## run the C++ tests under the address and undefined-behaviour sanitizers
	command -v cmake >/dev/null || $(BIN)/pip install -q --disable-pip-version-check cmake
	PATH="$$PATH:$(BIN)"; cmake -S . -B build/sanitize -DARCWISE_NATIVE_TESTS=ON -DARCWISE_SANITIZE=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 && \
	cmake --build build/sanitize -j$(JOBS) && \
	ctest --test-dir build/sanitize --output-on-failure

wheels: $(VENV)/.tools ## build the Linux wheels of all Pythons and platforms in dist/ (half an hour; JOBS=1 for one core)
	JOBS=$(JOBS) $(BIN)/python release/build_wheels.py

test-wheels: $(VENV)/.tools ## test the wheels of dist/ in empty environments, with every installed Python
	$(BIN)/python release/try_wheel.py --extras --installers

test-wheel: setup ## test one wheel, built from the kernels compiled in this clone
	JOBS=$(JOBS) $(BIN)/python release/wheel_of_clone.py build/wheel
	$(BIN)/python release/try_wheel.py --wheels build/wheel --python "$$($(BIN)/python -c 'import sys; print(*sys.version_info[:2], sep=".")')"

test-portability: $(VENV)/.tools ## compile the C++ for Windows and macOS and with other compilers, where installed
	JOBS=$(JOBS) $(BIN)/python release/check_portability.py $(ARGS)

lint: $(VENV)/.installed-lint $(VENV)/.installed-test ## check formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(NATIVE)

format: $(VENV)/.installed-lint ## format Python and C++
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix -q . || true
	$(BIN)/clang-format -i $(NATIVE)

bench: $(VENV)/.installed-bench $(VENV)/.installed-test ## run the benchmarks against other libraries; writes benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.run

experiments: $(VENV)/.installed-test ## compute missing results of the papers (hours; ARGS="--jobs 8 --budget 50" stops after 50 minutes, the next run continues)
	$(BIN)/python -m experiments $(ARGS)

models: setup ## train a pipeline for each free treebank in ARCWISE_TREEBANKS; see recipes/train.py
	$(BIN)/python recipes/train.py

docs: site $(VENV)/.installed-test ## build the documentation site, run every example in docs/ and check every link
	$(BIN)/pytest -q docs README.md tests/docs

site: $(VENV)/.installed-test $(VENV)/.installed-docs ## build the documentation site (build/site/html) and check it
	$(BIN)/python docs/site/build.py
	ARCWISE_SITE=build/site/html $(BIN)/pytest -q tests/docs/test_site.py

web-module: setup ## build the WebAssembly module and its model for web pages (build/web); skipped if its compiler cannot be installed
	$(BIN)/python -c "import ziglang" 2>/dev/null || $(BIN)/pip install -q --disable-pip-version-check $(ZIG) || true
	$(BIN)/python native/web/build.py

clean: ## remove .venv and build/
	rm -rf $(VENV) build
