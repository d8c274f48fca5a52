# make demo   set up, then pre-train, judge and print nmrGCL on MUTAG (offline)
# make test   set up, then every test          make check   format, lint, types, import layers
# make test-kernels   the GPU's kernels, on a machine without one
# make test-ray   cells, imports and embeddings on a real Ray cluster on this machine, in .venv-ray
# make test-trackers  TensorBoard, W&B, MLflow and Lightning themselves, offline, in .venv-trackers
# make test-view  the page of nmrgcl view in headless Chromium, in .venv-view
# make fuzz   a million mutated inputs for every parser (INPUTS=20000 for fewer)
# make faults kill, cut, damage and crowd everything on purpose; a table of what survived
# make dist   build wheel and source distribution, then run the quick start by the wheel in an empty environment
# make docs   the documentation site in site/, offline, in .venv-docs
# make notebooks  write notebooks/*.ipynb from their .py, and run them offline, in .venv-docs
# make readme   write README's tables and picture from results/
# PYTHON=...  use that interpreter as it is instead of building .venv

# Compiled modules are kept even where the machine asks Python to keep none: a process that compiles SciPy and
# scikit-learn anew starts a second later, and the tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: env demo test test-kernels test-ray test-trackers test-view fuzz faults check format dist readme docs notebooks clean
.DEFAULT_GOAL := env

ifdef PYTHON
READY :=
else
PYTHON := .venv/bin/python
READY := .venv/ready
endif

# A CPU build of torch is labelled "+cpu", a label that no public index serves: where pip does not see that
# wheel, the attempt fails at once and uv picks the build that fits the machine.
CPU_TORCH := torch==2.13.0+cpu
# $(call new_env,FOLDER): an environment with uv and torch, and constraints.txt, which keeps that torch.
define new_env
rm -rf $(1) && python3 -m venv $(1) && \
$(1)/bin/pip --disable-pip-version-check --quiet install uv && \
{ $(1)/bin/pip --disable-pip-version-check --quiet install '$(CPU_TORCH)' 2>/dev/null || \
  $(1)/bin/uv pip install --quiet --python $(1)/bin/python --torch-backend=auto torch; } && \
$(1)/bin/python -c 'import importlib.metadata as m; print("torch==" + m.version("torch"))' > $(1)/constraints.txt
endef
# $(call add,FOLDER): install into it.
add = $(1)/bin/uv pip install --quiet --compile-bytecode --python $(1)/bin/python --constraint $(1)/constraints.txt

env: $(READY)
	@echo "The command is $(dir $(PYTHON))nmrgcl; '. $(dir $(PYTHON))activate' puts it on PATH."

.venv/ready: pyproject.toml
	$(call new_env,.venv)
	$(call add,.venv) --editable '.[dev]'
	touch $@

demo: $(READY)
	$(PYTHON) -m nmrgcl pretrain MUTAG --preset graphcl --seeds 5 --out runs/demo --overwrite
	$(PYTHON) -m nmrgcl evaluate runs/demo
	$(PYTHON) -m nmrgcl report runs/demo

test: $(READY)
	$(PYTHON) -m pytest -n 2

fuzz: $(READY)
	FUZZ_INPUTS=$(or $(INPUTS),1000000) $(PYTHON) -m pytest -n 2 tests/fuzz

faults: $(READY)
	$(PYTHON) -m tests.faults --out benchmarks/results/faults.json

# Where there is no GPU: every kernel by Triton's interpreter, then by its compiler. Triton is large, so that only this
# target installs it; nothing else looks for it there.
test-kernels: $(READY)
	.venv/bin/uv pip install --quiet --no-deps --target .venv/triton triton
	PYTHONPATH=.venv/triton $(PYTHON) -m pytest tests/ops
	PYTHONPATH=.venv/triton $(PYTHON) -m tests.compile_kernels

# A real Ray on this machine, which is large.
.venv-ray/ready: pyproject.toml
	$(call new_env,.venv-ray)
	$(call add,.venv-ray) --editable '.[chem,parquet,ray]' pytest
	touch $@

test-ray: .venv-ray/ready
	.venv-ray/bin/python -m pytest tests/run/test_engine_ray.py

# The real trackers, and Lightning. MLflow brings pandas, which scikit-learn would import in every process of the tests.
.venv-trackers/ready: pyproject.toml
	$(call new_env,.venv-trackers)
	$(call add,.venv-trackers) --editable '.[mlflow,pyg,tensorboard,wandb]' lightning pytest
	touch $@

test-trackers: .venv-trackers/ready
	.venv-trackers/bin/python -m pytest tests/trackers

# A browser is driven by playwright, which is large; the browser itself is the machine's chromium.
.venv-view/ready: pyproject.toml
	$(call new_env,.venv-view)
	$(call add,.venv-view) --editable . playwright pytest
	touch $@

test-view: .venv-view/ready
	.venv-view/bin/python -m pytest tests/view

check: $(READY)
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTHON) -c 'from importlinter.cli import lint_imports_command as lint; lint()'

dist: $(READY)
	rm -rf dist && $(PYTHON) -m hatchling build -d dist
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(call new_env,$$folder/env) && \
	$(call add,$$folder/env) dist/*.whl && \
	$$folder/env/bin/nmrgcl --version && \
	$(PYTHON) -m tests.quick_start $$folder/env/bin/python

readme: $(READY)
	$(PYTHON) -m docs.render_readme

.venv-docs/ready: pyproject.toml
	$(call new_env,.venv-docs)
	$(call add,.venv-docs) --editable '.[chem,networkx]' furo ipykernel jupytext myst-parser nbclient sphinx
	touch $@

docs: .venv-docs/ready
	rm -rf site
	.venv-docs/bin/python -m docs.write_reference
	.venv-docs/bin/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet --doctree-dir build/doctrees docs site
	@echo "Open site/index.html."

# With their outputs they are in build/notebooks. No cell may take longer than three minutes; with one thread that holds
# beside other programs, too.
notebooks: export OMP_NUM_THREADS := 1
notebooks: .venv-docs/ready
	rm -rf build/notebooks && mkdir -p build/notebooks
	for file in notebooks/*.py; do name=$$(basename $$file .py); \
	  .venv-docs/bin/jupytext --quiet --update --to ipynb $$file && \
	  cp notebooks/$$name.ipynb build/notebooks && \
	  .venv-docs/bin/jupyter-execute --timeout=180 --inplace build/notebooks/$$name.ipynb || exit 1; \
	done

format: $(READY)
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

clean:
	rm -rf .venv .venv-docs .venv-ray .venv-trackers .venv-view runs build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
