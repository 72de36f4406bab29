"""What tests of figures share."""

from __future__ import annotations

import pytest

from chronicle import figures


@pytest.fixture
def unsaved(monkeypatch):
    """For tests of names and words: figures are planned and painted, but nothing is rendered or written."""
    monkeypatch.setattr(figures, "save", lambda figure, file, **options: None)
