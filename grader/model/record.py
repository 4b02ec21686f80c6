"""The base of every record that crosses a wall: frozen, strict, and deaf to unknown fields."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    # Strict, so that the reader refuses what the schema refuses: a text for a number, or NaN.
    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        strict=True,
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
    )
