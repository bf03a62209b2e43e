"""Find names in Chinese text, which has neither capitals nor spaces, by tables, surnames, suffixes and nearby words.

A name ends where a word begins that cannot be part of one. Traditional characters are read as simplified ones, one by
one, so that positions in the text stay the same; names are returned in the original spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from memscope.imports import pattern
from memscope.languages.name_rules import FoundName, NameKind, NameRules
from memscope.languages.registry import known_kind
from memscope.languages.zh import name_lists as lists
from memscope.text.tokens import fold_variants

_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff"
_BEFORE_PLACE = pattern(rf"^$|[在去到是的了从入给和跟与回来往为被把逛]|[^{_IDEOGRAPHS}]")
# First characters of words that may directly follow a name.
_AFTER = pattern(
    rf"[^{_IDEOGRAPHS}]|$|[在是的说做会要去来教帮上给和跟与也都就把被让对想有了过住从到吗呢吧很不没还叫告约请打生爱喜"
    r"介建推买送借带写病毕分结离换学家姓拿问准嫁娶觉记刚今明昨每下回找看听用考辞当开才将已正终最真特总常一那这两三四五六七八九十"
    r"周星去前后同为因再又之以等先只能可应该加搬出养得站拉种画唱弹拿陪喝吃玩见聊坐进出申休入升创办怕哭睡咬丢忘懂]"
)
_QUESTION_WORD = pattern("[什哪几谁怎咋]")
_BEFORE = pattern(
    rf"(?:^|[^{_IDEOGRAPHS}]|[和跟与给问找见约了到的是请陪帮把被让对看叫说过为向替比、]|告诉[我你他她]?|知道|觉得|认为|记得|发现|问问|借给|[跟和对][我你他她]说|认识|通知|联系|提醒|喜欢|想念|嫁给|碰到|遇到"
    r"|昨天|今天|明天|后来|听|听说|周末|上周|下周|去年|今年|前天|因为|所以|但是|原来|和|还有)$"
)
_BOOK_TITLE = pattern(r"[《〈]([^《》〈〉\n]{1,40})[》〉]")
_LATIN = pattern(r"[A-Za-z][\w+#.&-]*(?: [A-Z][\w+#.&-]*)*", re.A)
_ROLE = pattern(
    rf"(我们?|咱们?|俺)?(?:家)?(?:的)?(?:(?:最好|大学|高中|小学|初中|心理|班上|公司|新|老|大|小|二|好)的?)*"
    rf"({lists.ROLE_PATTERN})(?:的名字)?(?:叫做?|是|名叫|，|,|：)?"
)
_IS_ROLE = pattern(
    rf"(?:^|(?<=[^{_IDEOGRAPHS}]))([{_IDEOGRAPHS}]{{2,3}})是(?:我们?|咱们?)(?:家)?的?"
    rf"(?:(?:最好|大学|高中|小学|初中|公司|新|老)的?)*({lists.ROLE_PATTERN})(?=[^{_IDEOGRAPHS}]|$)"
)
_HAS_ROLE = pattern("|".join(sorted(lists.ROLE_NOUNS | lists.PETS)))
_NAMED_AS = pattern(r"(?:名字叫做?|名字是|名叫|叫做|叫他|叫她|叫它|照着|叫)")
_TITLED = pattern(rf"([{_IDEOGRAPHS}]{{1,2}}?)({'|'.join(sorted(lists.PERSON_TITLES, key=len, reverse=True))})")
_NICK = pattern(rf"[小老阿][{_IDEOGRAPHS}]|[{_IDEOGRAPHS}][哥姐]")
_DOUBLED = pattern(rf"([{_IDEOGRAPHS}])\1(?!\1|(.)\2)")
_WORKPLACE = pattern(rf"[在从]([{_IDEOGRAPHS}]{{2,6}}?)(?:上班|工作|实习|任职|当|做|退休|辞职|订了|聚餐|开户|贷款)")
_PRODUCT = pattern(rf"(?:下载|安装|打开|卸载)了?([{_IDEOGRAPHS}]{{2,4}}?)(?=[^{_IDEOGRAPHS}]|$|[学来看上后的了聊])")
_OPENING_NAME = pattern(rf"(?:^|(?<=[^{_IDEOGRAPHS}]))([{_IDEOGRAPHS}]{{2}})")
_SPOKEN = pattern(rf"(?:母语是|会说|会讲|[学讲]了?)([{_IDEOGRAPHS}]{{1,3}}[语话])(?=[^{_IDEOGRAPHS}]|$|[了和的很也])")
_EMPLOYER = pattern(
    rf"(?:加入|跳槽到|入职|创办|拿到|创立)了?([{_IDEOGRAPHS}]{{2,6}}?)(?=的(?:录用|offer|面试|通知)|[^{_IDEOGRAPHS}]|$)"
)
_PLACE = pattern(
    rf"(?:住在|搬到了?|来自|去过|飞往?|回到了?|嫁到了?|移民到?了?|爬了|游览了?|旅居|前往|在|去|到)([{_IDEOGRAPHS}]{{2,5}}?)"
    rf"(?:(?=上学|上班|长大|出生|读书|念书|教书|支教|旅游|出差|旅行|定居|买房|度假|过年|露营|徒步|爬山|滑雪|看海|过夜)"
    rf"|(?=[^{_IDEOGRAPHS}]|$|[了的吗要人边]))"
)
_TOPIC = pattern(
    rf"(?:对([{_IDEOGRAPHS}]{{2,5}}?)(?:很|非常|特别|最近|一直|挺|也|都|真|超|蛮)*(?:感兴趣|有兴趣|着迷)"
    rf"|(?:迷上了?|喜欢上了?|爱上了?|痴迷于?|热爱|(?<!锻|训)练习?|(?:在|开始|想|自|报班|(?:^|[^{_IDEOGRAPHS}])我|跟.{{1,6}}|[{_IDEOGRAPHS}]{{2}}在[{_IDEOGRAPHS}]{{2,5}})学习?)"
    rf"([{_IDEOGRAPHS}]{{2,5}}?)(?=[^{_IDEOGRAPHS}]|$|学?了|的时|已|很|，))"
)
_NO_TOPIC = frozenset("校生会习到完的了好过了什怎得着不我你他她这那一物费历术院期位业前习")


class _Reader:
    """Find the names of one text; the first rule that claims a span of it wins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.plain = fold_variants(text)
        self._taken = bytearray(len(text))

    def take(self, start: int, end: int, kind: NameKind, weight: int, role: str = "") -> Iterator[FoundName]:
        if start < end and not any(self._taken[start:end]):
            self._taken[start:end] = b"\1" * (end - start)
            yield FoundName(self.text[start:end], kind, start, weight, role and f"我{role}")

    def names(self) -> Iterator[FoundName]:
        for match in _BOOK_TITLE.finditer(self.plain):
            yield from self.take(*match.span(1), "thing", 3)
        yield from self.topics()
        yield from self.beside(_SPOKEN, "topic")
        yield from self.beside(_PRODUCT, "thing")
        yield from self.organisations()
        yield from self.known()
        yield from self.titled()
        yield from self.by_role()
        yield from self.called()
        yield from self.surnamed()
        yield from self.nicknames()
        yield from self.doubled()
        yield from self.workplaces()
        yield from self.places()
        yield from self.latin()
        yield from self.openings()

    def beside(self, pattern: re.Pattern[str], kind: NameKind) -> Iterator[FoundName]:
        """Recognise names beside the words of a pattern: 粤语 in 母语是粤语, 多邻国 in 下载了多邻国."""
        for match in pattern.finditer(self.plain):
            if not lists.NEVER_IN_NAMES.intersection(match[1][:-1]) - {"日"} and match[1][0] not in "这那普好":
                yield from self.take(*match.span(1), kind, 3)

    def organisations(self) -> Iterator[FoundName]:
        """Recognise organisations and places by their ending, after a word that may precede names: 清华大学, 中山路."""
        for kind, ending, most in _ENDINGS:
            for match in ending.finditer(self.plain):
                start = self._named_from(self._back(match.start(), most), match.start())
                name = self.plain[start : match.start()]
                plain = name[:1] in "大小新老旧" or name[:2] in lists.SOME or name in lists.GENERIC
                if len(name) >= 2 and not plain and (
                    _BEFORE_PLACE.search(self.plain[max(0, start - 1) : start]) or self._known_place(start)
                ):  # fmt: skip
                    yield from self.take(start, match.end(), kind, 3)

    def _named_from(self, start: int, end: int) -> int:
        """Return where the name that ends at ``end`` begins, by the known names: 复旦 in 报复旦大学."""
        if _BEFORE_PLACE.search(self.plain[max(0, start - 1) : start]):
            return start
        return next((at for at in range(start + 1, end - 1) if self.plain[at:end] in lists.lexicon().known), start)

    def _known_place(self, start: int) -> bool:
        names = lists.lexicon().by_first.get(self.plain[start : start + 1], ())
        return any(self.plain.startswith(name, start) for name in names)

    def _back(self, at: int, most: int) -> int:
        """Return the start of the longest run of characters before ``at`` that may be part of a name."""
        start = at
        while start > 0 and at - start < most and _is_han(self.plain[start - 1]):
            if self.plain[start - 1] in lists.NEVER_IN_NAMES and self.plain[start - 1] not in "第一中明文":
                return start - self._known_place(start - 1)  # 上海交通大学
            start -= 1
        return start

    def known(self) -> Iterator[FoundName]:
        table, first = lists.lexicon().known, lists.lexicon().by_first
        for match in _starts()[0].finditer(self.plain):
            at = match.start()
            for name in first[match[0]]:
                if self.plain.startswith(name, at):
                    yield from self.take(at, at + len(name), table[name], 2)
                    break

    def titled(self) -> Iterator[FoundName]:
        """Recognise people by their title: 王老师, 于医生, 欧阳教授."""
        for match in _TITLED.finditer(self.plain):
            surname, end = match[1], match.end()
            start = match.start() if surname in lists.lexicon().compound_surnames else match.start(2) - 1
            before = self.plain[start - 1 : start] if start else ""
            if (
                self.plain[start] in "小老大"
                or self.plain[start:end] in lists.NO_NAMES
                or (len(match[2]) == 1 and not _AFTER.match(self.plain, end))
            ):
                continue
            if self._surname(start) and before + surname[-1] not in ("由于", "对于", "关于", "至于"):
                yield from self.take(start, end, "person", 3)

    def by_role(self) -> Iterator[FoundName]:
        """Recognise people and pets by their role: 我妹妹小芳, 我的老板陈伟明, 我家的狗叫豆豆."""
        for match in _ROLE.finditer(self.plain) if _HAS_ROLE.search(self.plain) else ():
            role = match[2]
            end = self._name_end(match.end()) or self._given_end(match.end())
            other = self.plain[match.end() : end] in lists.ROLE_NOUNS  # 爷爷奶奶
            of_speaker = match[1] or (role in lists.RELATIVES and _opens_clause(self.plain, match))
            if end and not other and (match[0].endswith("叫") or self._like_a_name(match.end(), end)):
                pet = role in lists.PETS
                mine = role if of_speaker and not pet else ""
                yield from self.take(match.end(), end, "thing" if pet else "person", 3, mine)
            if of_speaker:
                yield FoundName(self.text[match.start() : match.end(2)], "person", match.start(), 0, f"我{role}")

        for match in _IS_ROLE.finditer(self.plain):
            if match[1] not in lists.ROLE_NOUNS and not lists.NEVER_IN_NAMES.intersection(match[1]):
                pet = match[2] in lists.PETS
                yield from self.take(*match.span(1), "thing" if pet else "person", 3, "" if pet else match[2])

    def called(self) -> Iterator[FoundName]:
        for match in _NAMED_AS.finditer(self.plain):
            end = self._name_end(match.end())
            if end and self.plain[match.end() : end] not in lists.ROLE_NOUNS:  # 叫老板来结账
                clause = re.split(r"[。！？\n]", self.plain[max(0, match.start() - 16) : match.start()])[-1]
                pet = any(word in clause for word in lists.PETS)
                yield from self.take(match.end(), end, "thing" if pet else "person", 3)

    def _name_end(self, start: int) -> int:
        """Return where the name that begins at ``start`` ends; 0 if none begins there."""
        surname = self._surname(start)
        longest = surname + 2 if surname else 2
        for size in range(longest, 1, -1):
            name = self.plain[start : start + size]
            if len(name) == size and all(map(_is_han, name)) and not lists.INSIDE.intersection(name) and (
                name not in lists.NO_NAMES and _AFTER.match(self.plain, start + size)
                and not (size > 2 and name[-1] in lists.NEVER_IN_NAMES - lists.lexicon().given_characters)
            ):  # fmt: skip
                return start + size
        return 0

    def _given_end(self, start: int) -> int:
        """Return where a given name of two characters ends, as in 我同桌安琪转学了; 0 if none begins at ``start``."""
        name = self.plain[start : start + 2]
        if len(name) < 2 or name in lists.NO_NAMES or name in lists.NO_DOUBLED or name in lists.ROLE_NOUNS:
            return 0
        fits = name[0] != name[1] or name[0] in lists.lexicon().given_characters | lists.DOUBLED_CHARACTERS
        return start + 2 if fits and self._like_a_name(start, start + 2) else 0

    def _like_a_name(self, start: int, end: int) -> bool:
        """Test for a surname with a given name, or for a form like 小芳, 阿明, 思雨 or 朵朵."""
        name, characters = self.plain[start:end], lists.lexicon().given_characters
        if name[0] == name[1] or (len(name) == 2 and characters.issuperset(name)):
            return True
        surname = self._surname(start)
        rest = name[surname:] if surname else name[1:] if name[0] in "小阿大老" else ""
        also = lists.lexicon().surnames if not surname else frozenset[str]()  # 老马
        return bool(rest) and all(char in characters or char in also for char in rest)

    def _surname(self, at: int) -> int:
        """Return the length of the surname at this position, 0 without one."""
        if self.plain[at : at + 2] in lists.lexicon().compound_surnames:
            return 2
        return int(self.plain[at : at + 1] in lists.lexicon().surnames and at < len(self.plain))

    def surnamed(self) -> Iterator[FoundName]:
        """Recognise a surname with a given name of one or two characters, between words that may stand beside names.

        With a given name of two characters, such a word on one side is enough.
        """
        characters = lists.lexicon().given_characters
        for match in _starts()[1].finditer(self.plain):
            at = match.start()
            size = self._surname(at)
            before = _BEFORE.search(self.plain[max(0, at - 3) : at]) is not None
            if not size or self._taken[at]:
                continue
            for end in (at + size + 2, at + size + 1):
                name = self.plain[at:end]
                after = _AFTER.match(self.plain, end) is not None
                ordinary = name[0] in lists.SURNAME_WORDS or lists.NEVER_IN_NAMES.intersection(name)
                whole = end - at == size + 2 and not ordinary
                rest = name[size + (end - at == size + 2 and name[size : size + 1] in "小大") :]  # 王小芳
                if len(name) == end - at and all(char in characters for char in rest) and (
                    name not in lists.NO_NAMES and name[:2] not in lists.NO_NAMES and (before or (whole and after))
                    and (after or (whole and before and rest == name[size:]))  # no 张小红 in 买了张小红帽
                ):  # fmt: skip
                    yield from self.take(at, end, "person", 2)
                    break

    def nicknames(self) -> Iterator[FoundName]:
        """Recognise nicknames: 小王, 老李, 阿明, 磊哥."""
        for match in _NICK.finditer(self.plain):
            start, end = match.span()
            last = match[0][1] not in "哥姐" or match[0][0] in "小老阿"
            second, beside = match[0][last], match[0] not in lists.NO_NICK
            is_given = match[0][0] != "老" and second in lists.lexicon().given_characters
            fits = is_given or (last and second in lists.lexicon().surnames)
            weather = second in "雨雪" and self.plain[end : end + 1] in ("大", "了", "的")
            if fits and beside and not weather and _BEFORE.search(self.plain[max(0, start - 2) : start]) and (
                _AFTER.match(self.plain, end) or _QUESTION_WORD.match(self.plain, end)
            ):  # fmt: skip
                yield from self.take(start, end, "person", 1)

    def doubled(self) -> Iterator[FoundName]:
        """Recognise doubled characters at the start of a clause or after a word that may precede names: 妞妞, 团团."""
        for match in _DOUBLED.finditer(self.plain):
            (start, end), char = match.span(), match[1]
            name = (
                match[0] not in lists.NO_DOUBLED and char in lists.lexicon().given_characters | lists.DOUBLED_CHARACTERS
            )
            if name and _AFTER.match(self.plain, end) and _BEFORE.search(self.plain[max(0, start - 3) : start]):
                yield from self.take(start, end, "person", 1)

    def workplaces(self) -> Iterator[FoundName]:
        for place in (_WORKPLACE, _EMPLOYER):
            for match in place.finditer(self.plain):
                ordinary = (
                    match[1] in lists.ORDINARY or match[1] in lists.ORGANISATION_ENDS or match[1] in lists.PLACE_ENDS
                )
                if not lists.NEVER_IN_NAMES.intersection(match[1]) and not ordinary:
                    yield from self.take(*match.span(1), "organisation", 3)

    def topics(self) -> Iterator[FoundName]:
        for match in _TOPIC.finditer(self.plain):
            group = 1 if match[1] else 2
            if not lists.NEVER_IN_NAMES.intersection(match[group]) and match[group][0] not in _NO_TOPIC:
                yield from self.take(*match.span(group), "topic", 3)

    def places(self) -> Iterator[FoundName]:
        for match in _PLACE.finditer(self.plain):
            sure = match[0][: match.start(1) - match.start()] not in ("在", "去", "到", "飞")
            region = match[1][-1] in lists.REGION_ENDS and len(match[1]) > 2
            if (
                (sure or region)
                and not lists.NEVER_IN_NAMES.intersection(match[1])
                and not match[1].endswith(tuple(lists.ORDINARY))
            ):
                yield from self.take(*match.span(1), "place", 3)

    def latin(self) -> Iterator[FoundName]:
        """Recognise names in Latin letters, of a person, a product or a company."""
        for match in _LATIN.finditer(self.plain):
            name = match[0].rstrip(".-&")
            known = known_kind(name)
            if known or (
                len(name) > 1 and name[0].isupper() and name.replace(" ", "").isalpha() and not name.isupper()
            ):
                known = known or known_kind(name.split()[0])
                yield from self.take(match.start(), match.start() + len(name), known or "thing", 2 if known else 1)

    def openings(self) -> Iterator[FoundName]:
        """Yield words that open a clause, with weight 0 as another text must confirm them: 团子 in 团子又感冒了."""
        for match in _OPENING_NAME.finditer(self.plain):
            name = match[1]
            plain = name in lists.NO_NAMES or name in lists.ROLE_NOUNS or lists.INSIDE.intersection(name)
            if not plain and _AFTER.match(self.plain, match.end()):
                yield from self.take(*match.span(1), "thing", 0)


def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return pattern("|".join(sorted(words, key=len, reverse=True)))


@lru_cache(maxsize=1)
def _starts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the first characters of known names, and of surnames."""
    table = lists.lexicon()
    surnames = "".join(sorted(table.surnames.union(name[0] for name in table.compound_surnames)))
    return re.compile(f"[{''.join(table.by_first)}]"), re.compile(f"[{surnames}]")


_ENDINGS: tuple[tuple[NameKind, re.Pattern[str], int], ...] = (
    ("organisation", _any_of(tuple(lists.ORGANISATION_ENDS)), 6),
    ("place", pattern(f"{_any_of(tuple(lists.PLACE_ENDS - {'路'})).pattern}|(?<![思线迷夜走马铁公套电])路"), 3),
)


def _opens_clause(text: str, role: re.Match[str]) -> bool:
    before, after = text[: role.start()][-1:], text[role.end(2) : role.end(2) + 1]
    return role.start() == role.start(2) and not (before and _is_han(before)) and after not in ("们", "的", "节")


def _is_han(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf"


class ChineseNames(NameRules):
    role_forms = ("我{}", "用户{}", "用户的{}", "我的{}")

    def find(self, text: str) -> Iterator[FoundName]:
        return _Reader(text).names()

    def known(self) -> Mapping[str, NameKind]:
        return lists.lexicon().known

    def short_forms(self, form: str) -> Sequence[str]:
        """Drop the surname before a given name of two characters: 小芳 for 王小芳."""
        surname = 2 if form[:2] in lists.lexicon().compound_surnames else int(form[:1] in lists.lexicon().surnames)
        return (form[surname:],) if surname and len(form) - surname == 2 else super().short_forms(form)


NAMES = ChineseNames()
