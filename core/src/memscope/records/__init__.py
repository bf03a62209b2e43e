"""The records of memscope as frozen dataclasses, validated once as input (``validation.py``).

Turn ──▶ Observation ──▶ Insight            every memory names its sources            stored.py
  └────────────┴────────────┴──▶ Unit       the searched pieces (``search/units.py``)
                                  └──▶ Hit  a query's results, and the reports        results.py
                                            between the operations and a store     store_messages.py
Block                                       core memory, with its history             stored.py
"""

from memscope.records.refusals import refusals, weaknesses
from memscope.records.results import (
    FACT_SEPARATOR,
    AddReport,
    FeatureValue,
    ForgetReport,
    FoundBy,
    Hit,
    LeftOut,
    Receipt,
    Repeats,
    Retrieval,
    Speak,
    Stats,
    WorkReport,
)
from memscope.records.store_messages import (
    MAX_WAIT_S,
    AppendOutcome,
    AppendResult,
    Candidates,
    ChangeSet,
    Claim,
    FetchResult,
    Revision,
    Search,
    Select,
    Supersession,
    TurnInsert,
    VectorSpace,
)
from memscope.records.stored import (
    AUTHORS,
    BLOCK_LABEL,
    BLOCK_LIMIT,
    BLOCK_ORDERS,
    CORRECTIONS,
    INJECTED,
    MACHINE_ROLES,
    ROLES,
    SUMMARY_NAMESPACE,
    Author,
    Block,
    BlockKey,
    Handle,
    Insight,
    Interval,
    Json,
    Kind,
    Memory,
    Observation,
    Quote,
    Record,
    Role,
    Scope,
    Sentence,
    Stage,
    Turn,
    days_after,
    in_zone,
)

__all__ = [
    "AUTHORS", "BLOCK_LABEL", "BLOCK_LIMIT", "BLOCK_ORDERS", "CORRECTIONS", "FACT_SEPARATOR", "INJECTED",
    "MACHINE_ROLES", "MAX_WAIT_S", "ROLES", "SUMMARY_NAMESPACE", "AddReport", "AppendOutcome", "AppendResult", "Author",
    "Block", "BlockKey", "Candidates", "ChangeSet", "Claim", "FeatureValue", "FetchResult", "ForgetReport", "FoundBy",
    "Handle", "Hit", "Insight", "Interval", "Json", "Kind", "LeftOut", "Memory", "Observation", "Quote", "Receipt",
    "Record", "Repeats", "Retrieval", "Revision", "Role", "Scope", "Search", "Select", "Sentence", "Speak", "Stage",
    "Stats", "Supersession", "Turn", "TurnInsert", "VectorSpace", "WorkReport", "days_after", "in_zone", "refusals",
    "weaknesses",
]  # fmt: skip
