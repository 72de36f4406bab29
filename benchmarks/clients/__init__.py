"""Today's clients, run for real, and what chronicle makes of the logs that they write.

    python -m benchmarks.clients install [CLIENT ...]   an environment of its own for each group of clients
    python -m benchmarks.clients run [CLIENT ...]       the same training through each, in three launches
    python -m benchmarks.clients table [--write]        the matrix; --write puts it into docs/clients.md

Environments and logs stand below the folder that the environment variable CHRONICLE_CLIENTS names (else
`build/clients`): `venv-<group>`, `logs/<client>/log/` and `logs/<client>/truth.json`.
"""
