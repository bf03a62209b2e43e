"""One conversation of ``memscope chat``: its scope, its output, and news of the background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memscope.commands.formatting import action_parts, summarize
from memscope.commands.input import Keyboard, Pipe
from memscope.commands.output import Display, print_error, visible
from memscope.records import WorkReport

if TYPE_CHECKING:
    from memscope.sync import MemoryScope, SyncAnswer


@dataclass
class Talk:
    """One conversation at a terminal or in a pipe."""

    memory: MemoryScope
    show: Display
    phrases: Mapping[str, str]
    user: str
    session: str
    agent: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    keyboard: Keyboard = field(default_factory=Pipe)
    last: SyncAnswer | None = None
    ids: list[str] = field(default_factory=list)  # that were shown, for completion
    busy: bool = False
    unread: list[WorkReport | str] = field(default_factory=list)
    code: int = 0

    @staticmethod
    def fresh_session() -> str:
        return f"chat {datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"

    @property
    def whose(self) -> dict[str, Any]:
        return {"user": self.user, "agent": self.agent}

    def say(self, phrase: str, **values: object) -> str:
        return self.phrases[phrase].format(**values)

    def note(self, said: str) -> None:
        """Print a note beside the answers: on stderr where a program reads stdout."""
        if self.show.machine or not self.keyboard.asks:
            print_error(said)
        else:
            self.show.line((visible(said), "dim"))

    def confirm(self, question: str) -> bool:
        try:
            return self.keyboard.line(question).strip().lower() in ("y", "yes", "是", "好")
        except EOFError:
            return False

    # ---- what the back end did

    def receive(self, news: WorkReport | str) -> None:
        """Called from the loop's thread: shown at once, unless an answer is being printed."""
        self.unread.append(news)
        if not self.busy and self.keyboard.asks:
            self.keyboard.above(self.show_news)

    def show_news(self) -> None:
        while self.unread:
            news = self.unread.pop(0)
            if isinstance(news, str):
                self.note(f"[{self.say('news')}] {news}")
            elif self.show.machine or not self.keyboard.asks:
                self.note(f"[{self.say('news')}] {news.operation}: {summarize(news)}")
            else:
                self.show_actions(news)

    def show_actions(self, report: WorkReport) -> None:
        self.ids += [str(action["id"]) for action in report.actions]
        for action in report.actions:
            self.show.line((f"[{self.say('news')}] ", "dim"), *action_parts(action), hang=12)
