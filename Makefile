# Each target sets up .venv by itself: Python 3.11 to 3.13 and `make` are all that must be there.
#
#   make check                                   grade the published solution of 04_online_softmax
#   make check EX=01_vector_add                  the same for another exercise
#   make check EX=01_vector_add KERNEL=mine.py   grade a file
#   make setup                                   install everything into .venv, and say what to type
#   make quick                                   the quick tests, for while you change something
#   make test                                    the whole test suite, but for what needs a GPU
#   make test-gpu                                the tests that need a GPU
#   make golden                                  renew all that tests compare output with
#   make lint                                    ruff and mypy
#   make docs                                    the documentation site, in build/site
#   make verify                                  every exercise against right and wrong kernels
#   make verify MUTANTS=all                      and against every small change to its solution
#   make verify CHANGED_SINCE=origin/main        only what changed since then, and a sample of the rest
#   make verify CHANGED_SINCE=… SAMPLE=3         of so many exercises
#   make redteam                                 all that attacks the judge, and all it must not reject:
#     redteam-cheats, redteam-mutants            every cheat; every mutant
#     redteam-honest SEEDS=44                    every correct kernel with 44 seeds
#     redteam-fuzz FUZZ_MINUTES=60               what crosses the judge's edges, drawn for an hour
#
# EXTRAS=dev,gpu adds what a machine with a CUDA GPU needs. DEVICE=cpu simulates where a GPU is.

PYTHON ?= python3
EXTRAS ?= dev
EX ?= 04_online_softmax
KERNEL ?=
DEVICE ?= auto
MUTANTS ?= 6
CHANGED_SINCE ?=
SAMPLE ?=
SEEDS ?= 1
FUZZ_MINUTES ?= 10

# Containers set it, and then each process compiles our modules anew, and pytest rewrites all tests.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
# One stamp for each choice of extras: another choice installs again.
READY := $(VENV)/.ready-$(EXTRAS)
# Quiet also means without the advice that setuptools gives on editable installations.
INSTALL := PYTHONWARNINGS=ignore $(VENV)/bin/python -m pip install --disable-pip-version-check \
	--quiet --no-compile
# What hardly anything here imports is not compiled beforehand: it is half of all that is installed.
RARELY := /tests?/|/torch/(_dynamo|_inductor|onnx)/|/(fontTools|mypy|networkx|pip|setuptools|sympy)/

.PHONY: setup check quick test test-gpu golden lint docs verify redteam redteam-cheats redteam-mutants \
	redteam-honest redteam-fuzz clean

check: $(READY)
	$(VENV)/bin/grader check $(EX) --device $(DEVICE) \
		$(if $(KERNEL),--kernel '$(KERNEL)',--solution)

# Without what is marked slow: units of all rooms, and one check end to end.
quick: $(READY)
	$(VENV)/bin/python -m pytest -q -n auto -m 'not slow'

# A file at a time for each worker, for what a file's tests share; tests/conftest.py has the order.
# One worker more than cores: tests wait a tenth of their time, for processes to end.
test: $(READY)
	$(VENV)/bin/python -m pytest -n $$(( $$(nproc) + 1 )) --dist loadfile --no-loadscope-reorder -m 'not gpu'

# A process for each file, one after the other: on the GPU, each other process counts as another
# program, and what a judge measures beside one is `noisy`.
test-gpu: $(READY)
	grep -lr --include='test_*.py' 'mark\.gpu' tests | sort \
		| xargs -n 1 $(VENV)/bin/python -m pytest -q -m gpu

# Samples of formats, drawings, the picture of README, published schemas, what pages show, and last the snapshots.
golden: export PYTHONPATH := tests
golden: $(READY)
	$(VENV)/bin/python tests/reported.py
	$(VENV)/bin/python tests/traces.py tests/drawings
	$(VENV)/bin/python tests/reports/test_junit_verify.py
	$(VENV)/bin/python tests/authoring/test_lint.py
	$(VENV)/bin/python -m grader.model.results >docs/result.schema.json
	$(VENV)/bin/python -m grader.model.trace >docs/trace.schema.json
	$(VENV)/bin/python -m grader.model.attempts attempt >docs/attempt.schema.json
	$(VENV)/bin/python -m grader.model.attempts signed >docs/signed.schema.json
	$(VENV)/bin/python -m grader.model.class_run >docs/class.schema.json
	$(VENV)/bin/python -m grader.classroom.board.publish >docs/board.schema.json
	$(VENV)/bin/python tests/pages.py
	$(VENV)/bin/python tests/picture.py
	$(VENV)/bin/python tests/course_page.py
	$(VENV)/bin/python tests/guide.py
	$(VENV)/bin/python tests/loop_page.py
	$(VENV)/bin/python tests/notebook.py
	$(VENV)/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder \
		--snapshot-update $$(grep -lr --include='test_*.py' SnapshotAssertion tests)

lint: $(READY)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

# Warnings are errors, and a link that leads nowhere is one.
docs: $(VENV)/.ready-site
	$(VENV)/bin/sphinx-build --quiet --fail-on-warning --keep-going -c docs/site . build/site
	@echo "open build/site/index.html"

# Whatever EXTRAS is, for Sphinx is needed here alone.
$(VENV)/.ready-site: $(READY)
	$(VENV)/bin/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e '.[site]'
	touch $@

verify: $(READY)
	$(VENV)/bin/grader verify $(if $(CHANGED_SINCE),--changed-since '$(CHANGED_SINCE)',--all) \
		$(if $(SAMPLE),--sample $(SAMPLE)) \
		--device $(DEVICE) --mutants $(MUTANTS)

redteam: redteam-cheats redteam-mutants redteam-honest redteam-fuzz

redteam-cheats: $(READY)
	$(VENV)/bin/python bench/redteam.py --out bench/results/redteam_cpu.json

redteam-mutants: $(READY)
	$(VENV)/bin/python bench/mutants.py --out bench/results/mutants_cpu.json

redteam-honest: $(READY)
	$(VENV)/bin/python bench/honest.py --seeds $(SEEDS) --out bench/results/honest_cpu.json

# Rounds with new random examples each, until the time is over; the first failure ends it.
redteam-fuzz: $(READY)
	end=$$(( $$(date +%s) + 60 * $(FUZZ_MINUTES) )); \
	while HYPOTHESIS_PROFILE=fuzz $(VENV)/bin/python -m pytest -q tests/trust/test_fuzz*.py; do \
		[ $$(date +%s) -lt $$end ] || exit 0; \
	done; exit 1

setup: $(READY)
	@echo 'next: `. $(VENV)/bin/activate`, then `grader next`; `grader --help` lists all commands'

# The stamp is made last, so that an installation that broke off is taken up again. The pip of 2026
# looks for versions in half the time of the one that comes with Python 3.11, which does as well.
# Compiled is on all cores, where pip takes one; files that are not for this Python, such as
# templates, stay as they are.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade 'pip>=26' || true
	$(INSTALL) -c constraints.txt -e '.[$(EXTRAS)]'
	$(VENV)/bin/python -W ignore -m compileall -qq -j 0 -x '$(RARELY)' $(VENV)/lib grader || true
	touch $@

clean:
	rm -rf $(VENV)
