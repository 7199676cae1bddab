"""Pages in the browser and JSON for programs, served on this machine (extra ``web``: starlette and uvicorn)."""
