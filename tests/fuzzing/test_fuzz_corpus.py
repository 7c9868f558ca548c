"""The inputs that ``benchmarks/fuzz.py`` has found and kept do no harm."""

from __future__ import annotations

import pytest
from fuzzing.targets import CORPUS, MODEL, TARGETS, Change, changed, changes_of

from egparse.errors import ModelFileError
from egparse.pipeline.model import Model


@pytest.mark.filterwarnings("ignore::egparse.io.rows.DepsWarning")  # what it warns of is meant
@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs_do_no_harm(name: str) -> None:
    kept = sorted((CORPUS / name).iterdir())
    assert len(kept) > 10
    if name == "request":
        pytest.importorskip("starlette", reason="Starlette comes with the extra serve")
    for path in kept:
        try:
            TARGETS[name](path.read_bytes())
        except Exception as error:
            raise AssertionError(f"{name}/{path.name}: {error!r}") from error


def test_the_model_that_is_changed_is_sound() -> None:
    content = MODEL.read_bytes()
    assert Model.from_bytes(changed([]).content()).to_bytes() == content
    missing = changed([Change(["payload", "parser"], [])])
    assert "parser" not in missing.payload
    with pytest.raises(ModelFileError, match="expected the field parser"):
        Model.from_bytes(missing.content())


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x01", b"\x91\x01", b"\x91\x92\x90\x90", b"\x80"])
def test_bytes_without_changes_are_seen(data: bytes) -> None:
    assert changes_of(data) == []
