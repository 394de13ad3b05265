"""Schemas that Arrow consumers request, read through Arrow's C interface."""

from __future__ import annotations

import ctypes


class _ArrowSchema(ctypes.Structure):
    """``struct ArrowSchema`` of the C interface."""


_ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowSchema))),
    ("dictionary", ctypes.POINTER(_ArrowSchema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

_TEXTS = (b"u", b"U", b"vu")


def columns(capsule: object) -> list[tuple[str, bool]] | None:
    """Names of the requested columns, each with ``True`` if plain text is requested; ``None`` if that is no table."""
    address = _pointer(capsule, b"arrow_schema")
    schema = _ArrowSchema.from_address(address)
    if not schema.release or schema.format != b"+s":
        return None
    children = (schema.children[index].contents for index in range(schema.n_children))
    return [((child.name or b"").decode(), child.format in _TEXTS and not child.dictionary) for child in children]
