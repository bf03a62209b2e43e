"""The section ``postgres`` of the settings."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from memscope.config.settings import Count, Seconds, Section


class PostgresSettings(Section):
    """Options of the store, overridden by its address. See ``options.PostgresOptions``."""

    user: str | None = None
    password: SecretStr | None = None
    sslmode: str | None = None
    sslrootcert: str | None = None
    schema_name: str | None = None
    connections: Count | None = None
    statement_timeout_s: Seconds | None = None
    deadline_s: Seconds | None = None

    def options(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: v.get_secret_value() if isinstance(v, SecretStr) else v for name, v in values.items()}
