# make site   sets everything up, builds the reference gallery from runs/, and says where to open it
# make test   sets everything up and runs all tests
# Needs Python 3.11 or newer, make and a C library. Both may be called again at once: nothing is installed twice.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: site test check browser clean

site: $(READY)
	$(BIN)/chronicle build

test: $(READY) check browser
	$(BIN)/python -m pytest -q

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# A real Chromium for the tests in a browser: used if there is one, installed through apt where that is allowed.
browser:
	@sh .ci/browser

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "chronicle needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[all,test]'
	touch $(READY)

clean:
	rm -rf build chronicle-site .venv
