"""Current clients, run for real, and what chronicle reads from the logs that they write.

    python -m benchmarks.clients install [CLIENT ...]   make an environment for each group of clients
    python -m benchmarks.clients run [CLIENT ...]       run the same training with each, in three launches
    python -m benchmarks.clients table [--write]        print the matrix; --write puts it into docs/clients.md

Environments and logs are below the folder that the environment variable CHRONICLE_CLIENTS names (default:
`build/clients`): `venv-<group>`, `logs/<client>/log/` and `logs/<client>/truth.json`.
"""
