"""A month of conversation as ranking, timeline and graph, without a model: ``python examples/month.py [graph.svg]``."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memscope import MemoryScope

MAY = datetime(2026, 5, 1, 18, tzinfo=UTC)
SAID = """
1 My sister Kim is moving to Lisbon. She found a flat near the river.
2 I had lunch with Anna Schmidt, she works for Siemens in Hamburg.
3 I started learning Portuguese, so that I can talk to Kim's neighbours.
5 Anna and I are planning a trip to Porto in June.
6 My boss, Mr. Okafor, wants the report by Friday.
7 Mr. Okafor liked the report. I celebrated with Anna.
9 我朋友赵磊在腾讯上班，他也想去里斯本。
11 Kim sent pictures of Lisbon. My sister is so happy there.
12 I booked the flight to Lisbon.
13 Packed for Lisbon. My dog Biscuit stays with Anna.
14 Landed in Lisbon! Kim picked me up.
14 We had dinner with Kim and her neighbour Rui.
15 Kim and Rui took me to Sintra.
15 Rui plays in a band called Mar Azul.
16 I saw Mar Azul live in Lisbon with Kim.
17 Back home from Lisbon. Biscuit missed me.
19 Anna told me that Siemens sends her to Porto.
21 赵磊说他八月去里斯本。
23 Mr. Okafor asked me to lead the new project.
26 I told Kim about the project. My sister thinks I should ask for more money.
28 Anna is looking for a flat in Porto.
30 I talked to Mr. Okafor about money, Kim was right.
"""


def main() -> None:
    with MemoryScope(":memory:", clock=lambda: MAY + timedelta(days=30)) as memory:
        days = [line.split(" ", 1) for line in SAID.split("\n") if line]
        turns = [{"role": "user", "content": text, "time": MAY + timedelta(days=int(day) - 1)} for day, text in days]
        memory.add_turns(turns, user="me", replay=True)

        print("Ranking")
        ranked = memory.entities("me").list(top=8)
        for one in ranked:
            called = f" ({', '.join(one.aliases)})" if one.aliases else ""
            print(f"  {'█' * round(3 * one.score):<28} {one.name}{called}, {one.kind}, {one.count} turns")

        print("Timeline")
        for bucket in memory.entities("me").timeline(by="week", zone="UTC").buckets:
            named = ", ".join(one.name + (" *" if one.before is None else "") for one in bucket.top[:3])
            print(f"  {bucket.start:%d %B}  {'▪' * bucket.count:<12} {named}")

        print("Graph")
        graph = memory.entities("me").graph(["Kim", "Anna"], depth=1)
        for edge in sorted(graph.edges, key=lambda edge: -edge.count)[:6]:
            print(f"  {edge.source} - {edge.target}: {edge.count}")
        if len(sys.argv) > 1:
            Path(sys.argv[1]).write_text(graph.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
