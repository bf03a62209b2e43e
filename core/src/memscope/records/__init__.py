"""The words of memscope as frozen dataclasses, checked once where they come in (``validation.py``).

Turn ──▶ Observation ──▶ Insight            every memory names its sources            entities.py
  └────────────┴────────────┴──▶ Unit       the searched pieces (``text/units.py``)
                                  └──▶ Hit  a query's results, and the reports        results.py
                                            between the operations and a store        messages.py
Block                                       core memory, with its history             blocks.py
"""

from memscope.records.blocks import AUTHORS, BLOCK_LABEL, BLOCK_LIMIT, BLOCK_ORDERS, Author, Block, BlockKey
from memscope.records.entities import (
    CORRECTIONS,
    INJECTED,
    ROLES,
    SUMMARY,
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
    Stage,
    Turn,
)
from memscope.records.messages import (
    LONGEST_WAIT_S,
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
from memscope.records.receipts import Receipt
from memscope.records.refusals import refusals
from memscope.records.results import (
    AddReport,
    Feature,
    ForgetReport,
    Hit,
    LeftOut,
    Repeats,
    Retrieval,
    Stats,
    WorkReport,
)

__all__ = [
    "AUTHORS",
    "BLOCK_LABEL",
    "BLOCK_LIMIT",
    "BLOCK_ORDERS",
    "CORRECTIONS",
    "INJECTED",
    "LONGEST_WAIT_S",
    "ROLES",
    "SUMMARY",
    "AddReport",
    "AppendOutcome",
    "AppendResult",
    "Author",
    "Block",
    "BlockKey",
    "Candidates",
    "ChangeSet",
    "Claim",
    "Feature",
    "FetchResult",
    "ForgetReport",
    "Handle",
    "Hit",
    "Insight",
    "Interval",
    "Json",
    "Kind",
    "LeftOut",
    "Memory",
    "Observation",
    "Quote",
    "Receipt",
    "Record",
    "Repeats",
    "Retrieval",
    "Revision",
    "Role",
    "Scope",
    "Search",
    "Select",
    "Stage",
    "Stats",
    "Supersession",
    "Turn",
    "TurnInsert",
    "VectorSpace",
    "WorkReport",
    "refusals",
]
