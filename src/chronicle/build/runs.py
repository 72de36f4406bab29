"""The runs at paths, one after the other: what `chronicle.runs` gives, and what the commands work through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chronicle.build.produce import diagnose, stitched
from chronicle.build.sources import expand
from chronicle.model import Diagnosis, Timeline
from chronicle.readers import local
from chronicle.workspace.config import WorkspaceConfig
from chronicle.workspace.folders import RunFolder, Workspace


@dataclass(frozen=True)
class Run:
    """One run: where its logs are and what its run.toml says, with the settings of the workspace around."""

    folder: RunFolder
    settings: WorkspaceConfig

    @property
    def run_id(self) -> str:
        """What the run is called: the name of its folder, of its log, or the one that its tracker gave it."""
        return self.folder.run_id

    def timeline(self) -> Timeline:
        """The run, read and stitched. Raises ChronicleError where nothing of it could be read."""
        return stitched(self.folder, self.settings)[0]

    def diagnose(self) -> tuple[Timeline, Diagnosis, list[str]]:
        """The run read, stitched and classified, and what was wrong with single logs of it.

        Raises:
            ChronicleError: nothing of the run could be read, or its configuration is wrong.
        """
        return diagnose(self.folder, self.settings)


def runs(path: str | Path, *more: str | Path) -> list[Run]:
    """The runs at these paths: logs, stores, folders of logs, run folders, workspaces, addresses.

    A store or a folder of several runs gives each of them, as the commands do.

    Raises:
        UsageError: a path that does not exist.
        NothingToRead: no path holds a log.
    """
    home = Workspace.find(Path.cwd())
    settings = home.config if home else WorkspaceConfig()
    return [Run(run, settings) for run in expand([local(one) for one in (path, *more)])]
