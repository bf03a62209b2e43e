"""Questions that no everyday history answers: invented words, and remote subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

QUESTIONS: Mapping[str, Sequence[str]] = {
    "en": (
        "Blorfen quazzle drimwick?",
        "xqzvtr plomf",
        "Who flimmed the gorvax?",
        "asdfgh jklqwe zxcvbn",
        "Wuggle frabjous snorp tivvy",
        "Is the zorblat trindled?",
        "fnord fnord fnord",
        "qwertz uiopasd",
        "Glimmerfax ontrobe vellish?",
        "Drubnik hasp olvertine mog",
        "At what temperature does tungsten melt?",
        "How does a transistor amplify voltage?",
        "Who proved the Poincaré conjecture?",
        "Which isotopes does uranium have?",
        "Who translated Kierkegaard into Danish?",
        "How does photosynthesis fix carbon dioxide?",
        "When was the Treaty of Westphalia signed?",
        "What orbits Jupiter besides Ganymede?",
        "How are neutrinos detected?",
        "Who commanded the Carthaginian fleet?",
    ),
    "zh": (
        "咕噜嘎巴呜哩哇？",
        "asdfgh jklqwe zxcvbn",
        "魑魅魍魉饕餮貔貅？",
        "嗐嚯噫嘘唏",
        "xqzvtr plomf",
        "氍毹瓿甍翾翯",
        "qwertz uiopasd",
        "囍囧槑靐龘",
        "叽哩嘎喳嘟噜",
        "fnord fnord fnord",
        "钨的熔点是多少？",
        "晶体管怎样调制电压？",
        "谁证明了庞加莱猜想？",
        "铀有哪些同位素？",
        "克尔凯郭尔所说的恐惧指什么？",
        "叶绿体如何合成淀粉？",
        "威斯特伐利亚和约签于哪一年？",
        "谁发现了冥王星？",
        "中微子怎样被探测到？",
        "迦太基舰队由谁统帅？",
    ),
}
