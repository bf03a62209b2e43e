"""Replies of the pretend provider when nothing is wrong: scripted, fitted to a schema, or echoed; hashed vectors."""

from __future__ import annotations

import collections
import hashlib
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

SCRIPT_FIELDS = {"match", "in", "reply", "sequence", "expand", "tool_calls", "finish_reason"}

TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def embed(text: str, dimensions: int) -> list[float]:
    """A unit vector by feature hashing: equal in every process, closer when words are shared."""
    vector = [0.0] * dimensions
    words = TOKEN.findall(text.lower())
    pairs = [words[i] + words[i + 1] for i in range(len(words) - 1)]
    for token in words + pairs or ["\0empty"]:
        digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=9).digest()
        vector[int.from_bytes(digest[:8], "big") % dimensions] += 1.0 if digest[8] & 1 else -1.0
    norm = math.sqrt(sum(x * x for x in vector))
    if not norm:  # the hashed words cancelled out
        vector[0], norm = 1.0, 1.0
    return [x / norm for x in vector]


def example_for(schema: Any, root: Any = None, depth: int = 0) -> Any:
    """The smallest plain instance of a JSON schema, enough for structured output."""
    root = schema if root is None else root
    if not isinstance(schema, dict) or depth > 24:
        return None
    if "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target.get(part.replace("~1", "/").replace("~0", "~"), {})
        return example_for(target, root, depth + 1)
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if schema.get("enum"):
        return schema["enum"][0]
    for word in ("anyOf", "oneOf", "allOf"):
        if schema.get(word):
            return example_for(schema[word][0], root, depth + 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        fields = schema.get("properties") or {}
        names = schema.get("required") or fields
        return {n: example_for(fields.get(n, {}), root, depth + 1) for n in names}
    if kind == "array":
        return [example_for(schema.get("items"), root, depth + 1)] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return {"boolean": False, "null": None}.get(kind, "x" * max(1, schema.get("minLength", 0)))


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass
class Reply:
    """Reply of the pretend model."""

    content: str | None = ""
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str = "stop"
    refusal: str | None = None


class Script:
    """Replies by regular expression over the last user or system message.

    Either ``{"regex": reply, ...}`` or a list of rules with the fields ``match``,
    ``in`` (user, system, any, or all; default any), ``reply`` (text, a JSON value,
    or with ``sequence`` a list taken one by one), ``expand`` (fill ``\\1`` and
    ``\\g<name>`` from the match), ``tool_calls`` and ``finish_reason``.
    """

    def __init__(self, rules: dict[str, Any] | list[Any] | None = None) -> None:
        if isinstance(rules, dict):
            rules = [{"match": k, "reply": v} for k, v in rules.items()]
        for rule in rules or []:
            unknown = set(rule) - SCRIPT_FIELDS
            if unknown or rule.get("in", "any") not in ("user", "system", "any", "all"):
                raise ValueError(f"bad script rule {rule!r}")
        self.rules = [dict(r, _re=re.compile(r.get("match", ""), re.S)) for r in rules or []]
        self.used: collections.Counter[int] = collections.Counter()

    def answer(self, body: dict[str, Any]) -> Reply | None:
        texts = prompt_parts(body)
        for index, rule in enumerate(self.rules):
            where = rule.get("in", "any")
            names = ("user", "system") if where == "any" else (where,)
            found = next(filter(None, (rule["_re"].search(texts[name]) for name in names)), None)
            if found:
                return self._reply(index, rule, found)
        return None

    def _reply(self, index: int, rule: dict[str, Any], found: re.Match[str]) -> Reply:
        reply = rule.get("reply", "")
        if rule.get("sequence"):
            reply = reply[min(self.used[index], len(reply) - 1)]
        self.used[index] += 1
        text = reply if isinstance(reply, str) else dump(reply)
        calls = rule.get("tool_calls", [])
        finish = rule.get("finish_reason", "tool_calls" if calls else "stop")
        return Reply(found.expand(text) if rule.get("expand") else text, calls, finish)


def default_reply(body: dict[str, Any]) -> Reply:
    """Without a script: fit the schema, call the demanded tool, or echo the user."""
    choice, tools = body.get("tool_choice"), body.get("tools") or []
    if tools and choice not in (None, "auto", "none"):
        wanted = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
        functions = [t["function"] for t in tools]
        tool = next((f for f in functions if f["name"] == wanted), functions[0])
        arguments = example_for(tool.get("parameters", {"type": "object"}))
        return Reply(None, [{"name": tool["name"], "arguments": arguments}], "tool_calls")
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return Reply(dump(example_for(form.get("json_schema", {}).get("schema", {}))))
    if form.get("type") == "json_object":
        return Reply("{}")
    return Reply("echo: " + prompt_parts(body)["user"][:400])


def text_of(content: Any) -> str:
    """The text of a message, whose content is a string or a list of typed parts."""
    if isinstance(content, list):
        return "\n".join(str(p.get("text", "") if isinstance(p, dict) else p) for p in content)
    return content if isinstance(content, str) else ""


def prompt_parts(body: dict[str, Any]) -> dict[str, str]:
    """The last user text, the last system text, and everything."""
    parts = {"user": "", "system": "", "all": ""}
    texts = []
    for message in body.get("messages") or []:
        texts.append(text_of(message.get("content")))
        role = {"developer": "system"}.get(message.get("role"), message.get("role"))
        if role in ("user", "system"):
            parts[role] = texts[-1]
    parts["all"] = "\n".join(texts)
    return parts
