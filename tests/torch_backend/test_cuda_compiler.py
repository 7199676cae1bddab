"""CUDA source: every file compiles where NVRTC is, and what was compiled is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-torch")

from arcwise.torch.cuda import compiler
from arcwise.torch.cuda.compiler import CudaError

KERNELS = Path(__file__).parents[2] / "native" / "kernels" / "inference"
SOURCES = sorted(path.name for path in KERNELS.glob("*.cu"))


@pytest.fixture
def _nvrtc() -> None:
    try:
        compiler.nvrtc_library()
    except CudaError as problem:
        pytest.skip(f"{problem}; pip install nvidia-cuda-nvrtc")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "arcwise" / "kernels"


@pytest.mark.usefixtures("_nvrtc")
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_compiles(source: str) -> None:
    assert compiler.compile_source((KERNELS / source).read_bytes(), source, "sm_90")[:4] == b"\x7fELF"


@pytest.mark.usefixtures("_nvrtc")
def test_what_cannot_be_compiled_is_told_in_the_words_of_the_compiler() -> None:
    with pytest.raises(CudaError, match=r"(?s)wrong\.cu: NVRTC cannot compile it for sm_90: .*nonsense"):
        compiler.compile_source(b"nonsense", "wrong.cu", "sm_90")


def test_compiled_once_and_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def pretend(text: bytes, name: str, architecture: str) -> bytes:
        compiled.append((name, architecture))
        return b"code for " + architecture.encode()

    monkeypatch.setattr(compiler, "compile_source", pretend)
    monkeypatch.setattr(compiler, "_version", lambda: (13, 0))
    for _ in range(2):
        assert compiler.machine_code(SOURCES[0], "sm_90") == b"code for sm_90"
    assert compiled == [(SOURCES[0], "sm_90")]
    assert compiler.machine_code(SOURCES[0], "sm_80") == b"code for sm_80"
    monkeypatch.setattr(compiler, "_version", lambda: (13, 1))
    compiler.machine_code(SOURCES[0], "sm_90")
    assert [architecture for _, architecture in compiled] == ["sm_90", "sm_80", "sm_90"]
    assert sorted(path.suffix for path in kept.iterdir()) == [".cubin"] * 3


def test_no_place_to_keep_it(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.parent.mkdir()
    kept.write_text("a file where the folder should be")
    monkeypatch.setattr(compiler, "compile_source", lambda *_: b"code")
    monkeypatch.setattr(compiler, "_version", lambda: (13, 0))
    assert compiler.machine_code(SOURCES[0], "sm_90") == b"code"


def test_what_is_installed_is_what_stands_in_the_repository() -> None:
    installed = compiler.source_folder() / "kernels"
    for path in [*KERNELS.parent.rglob("*.cu"), *KERNELS.parent.rglob("*.cuh")]:
        assert (installed / path.relative_to(KERNELS.parent)).read_bytes() == path.read_bytes()
