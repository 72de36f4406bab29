# make site   sets everything up, builds the reference gallery from runs/, and says where to open it
# make test   sets everything up and runs all tests, on all cores
# make long   the same with every member of the long families, of which make test takes some
# make quick  the tests that take less than a second each
# Needs Python 3.11 or newer, make and a C library. Both may be called again at once: nothing is installed twice.

PYTHON ?= python3
BIN := .venv/bin
SITE := .venv/.ready-site
TEST := .venv/.ready-test
CHECKS := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
# Python compiles what is imported when it is imported: a tenth of what pip would compile for half a minute.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt

# The tests start Python some hundred times, and pytest rewrites every test file: compiled once, not each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: site test long quick check browser clean

site: $(SITE)
	$(BIN)/chronicle build

# What the type checker takes one core for, the tests leave idle while they wait for a browser.
test: $(TEST) browser
	@{ $(CHECKS); } > .venv/checks.txt 2>&1 & checks=$$!; \
	$(BIN)/python -m pytest -q -n logical --dist worksteal; tests=$$?; \
	wait $$checks; checked=$$?; cat .venv/checks.txt; exit $$((tests + checked))

long: export CHRONICLE_LONG = 1
long: test

quick: $(TEST)
	$(BIN)/python -m pytest -q -n logical --dist worksteal -m "not slow and not browser"

check: $(TEST)
	$(CHECKS)

# A real Chromium for the tests in a browser: used if there is one, installed through apt where that is allowed.
browser:
	@sh .ci/browser

# A site needs no tools of the tests; the tests need all that a site needs.
$(SITE): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[site]'
	touch $(SITE)

$(TEST): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[all,test]'
	touch $(SITE) $(TEST)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "chronicle needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

clean:
	rm -rf build chronicle-site .venv
