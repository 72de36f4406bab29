"""Python code in a process of its own: what it imports, and what it does without a package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def printed_by(code: str, *arguments: str | Path, folder: Path | None = None) -> str:
    """What this code prints. It must not fail."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout
