"""The parameters of a request: those of its address, and over them those of its body, a form that
is URL-encoded or in several parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from urllib.parse import parse_qsl

from python_multipart import parse_form
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File

from egparse.service.rest.process import Refused

URL_ENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"

_MOST = 100
"""Parameters of a request; the service knows seven."""


def parameters_of(query: bytes, content_type: str, body: bytes) -> dict[str, str]:
    """The parameters of a request by name; of several of one name, the last.

    Raises:
        Refused: a body of another type, one that does not have its form, or is not UTF-8.
    """
    found = _url_encoded(query, "address")
    if not body and not content_type:
        return found
    type_ = content_type.partition(";")[0].strip().lower()
    if type_ == URL_ENCODED:
        return found | _url_encoded(body, "body")
    if type_ == MULTIPART:
        return found | _parts(content_type, body)
    raise Refused(
        f"Unsupported payload Content-Type '{type_}'; expected {URL_ENCODED} or {MULTIPART}."
    )


def _url_encoded(data: bytes, place: str) -> dict[str, str]:
    try:
        return dict(
            parse_qsl(
                data.decode("utf-8"),
                keep_blank_values=True,
                encoding="utf-8",
                errors="strict",
                max_num_fields=_MOST,
            )
        )
    except UnicodeDecodeError:
        raise Refused(f"The parameters in the {place} are not UTF-8.") from None
    except ValueError:
        raise Refused(f"Expected at most {_MOST} parameters in the {place}.") from None


def _parts(content_type: str, body: bytes) -> dict[str, str]:
    found: list[tuple[bytes, bytes]] = []

    def add(name: bytes | None, value: bytes | None) -> None:
        if len(found) == _MOST:
            raise Refused(f"Expected at most {_MOST} parameters in the body.")
        found.append((name or b"", value or b""))

    def add_field(field: Field) -> None:
        add(field.field_name, field.value)

    def add_file(file: File) -> None:
        file.file_object.seek(0)
        add(file.field_name, file.file_object.read())
        file.close()

    headers: Mapping[str, bytes] = {"Content-Type": content_type.encode("latin-1")}
    try:
        parse_form(dict(headers), BytesIO(body), add_field, add_file)
    except (FormParserError, ValueError):
        raise Refused("Cannot parse the multipart/form-data payload.") from None
    if not found and body:
        raise Refused("Cannot parse the multipart/form-data payload.")
    try:
        return {name.decode("utf-8"): value.decode("utf-8") for name, value in found}
    except UnicodeDecodeError:
        raise Refused("The parameters in the body are not UTF-8.") from None
