"""The base of all settings."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Base of all settings: frozen, and a misspelt name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
