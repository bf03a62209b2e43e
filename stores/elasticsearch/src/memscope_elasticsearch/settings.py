"""The settings' section ``elasticsearch``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SecretStr

from memscope.config.settings import Count, Names, Seconds, Section


class ElasticsearchSettings(Section):
    """Options of the store, overridden by its address. See ``options.Options``."""

    hosts: Names | None = None
    cloud_id: str | None = None
    user: str | None = None
    password: SecretStr | None = None
    api_key: SecretStr | None = None
    ca_certs: str | None = None
    ssl_assert_fingerprint: str | None = None
    verify_certs: bool | None = None
    prefix: str | None = None
    shards: Count | None = None
    replicas: Annotated[int, Field(ge=0)] | None = None
    vectors: str | None = None
    request_s: Seconds | None = None
    deadline_s: Seconds | None = None
    lease_s: Seconds | None = None

    def options(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: v.get_secret_value() if isinstance(v, SecretStr) else v for name, v in values.items()}
