"""Rules on Chinese sentences, simplified and traditional."""

from __future__ import annotations

from memscope.imports import pattern
from memscope.languages.statement_rules import Statements
from memscope.languages.zh.words import alternatives


class ChineseStatements(Statements):
    def plain(self, text: str) -> str:
        """Punctuation stays, which the patterns name."""
        return text.lower()

    def length(self, text: str) -> int:
        return len(text)

    def asks(self, sentence: str) -> bool:
        if len(sentence) > self.longest_question or self.no_question.search(sentence) or "，" in sentence[:-1]:
            return False
        return self.question.search(sentence) is not None

    def asks_about_user(self, query: str) -> bool:
        return "我" in query and self.about_user.search(self.plain(query)) is not None


STATEMENTS = ChineseStatements(
    question=pattern(
        r"(?:吗|嗎|么|呢|咩)\W*$"
        r"|(?<![没沒])(?:什么|什麼|甚麼|啥|谁|誰|乜|咩|邊(?:度|個|区|區|日)|幾多|哪(?!怕)|几号|幾號|几点|幾點"
        r"|几时|幾時|几岁|幾歲|多少|多大|多久|怎么|怎麼|咋|如何|为何|為何|邊個|邊度)"
        r"(?!.{0,8}(?:都|也))"
    ),
    no_question=pattern(
        r"(?:[没沒不]|忘了|知道|不管|无论|無論|随便|隨便).{0,3}(?:什么|什麼|啥|谁|誰|哪|怎么|怎麼|多少)"
    ),
    longest_question=30,
    shortest_clause=6,
    filling="你好|您好|请问|請問|谢谢|謝謝|对了|對了|再问一遍|再問一遍|问一下|問一下|帮我想想|嗯|诶|欸|哎|我忘了|忘了",
    unknowing=pattern(
        r"(?:我|這邊|这边|目前|暂时|暫時|还|還|暫)[^，。！？]{0,6}(?:不知道|不清楚|不晓得|不曉得|不記得|不记得"
        r"|不确定|不確定|唔知)"
        r"|(?:你|您)[^，。！？]{0,6}(?:还没|還沒|没有?|沒有?|从没|從沒|未)(?:有)?(?:跟我|和我|对我|對我)?(?:告诉"
        r"|告訴|说|說|提|讲|講)"
        r"|(?:唔|未|仲未)(?:清楚|知道?|記得)|冇[^，。！？]{0,4}(?:記錄|記録|资料|資料|印象)"
        r"|(?:没有?|沒有?|无|無|查不到|找不到|未)[^，。！？]{0,8}(?:信息|資訊|资料|資料|记录|記錄|紀錄|提到|提过"
        r"|提過|记到|記到|印象)"
        r"|(?:信息|資訊|资料|資料|记录|記錄|紀錄)[^，。！？]{0,6}(?:没有|沒有|没存|沒存|不在|暂无|暫無)"
    ),
    but="但|不过|不過|可是|只知道|只記得|只记得",
    sorry="抱歉|对不起|對不起|不好意思|很抱歉|很遗憾",
    recap="(?:就像)?我(?:之前|刚才|剛才)?(?:说过|說過|讲过|講過)",
    final_particles=pattern("(?:[啊呀哦喔啦嘛呢吧哈诶欸唷哟]+)(?=\\W|$)"),
    about_user=pattern(
        r"我(?:到底|究竟)?(?:是|系|係)(?:谁|誰|个?啥人|個?啥人|(?:一)?[个個]?(?:什么|什麼|甚麼|怎样|怎樣|怎么样"
        r"|怎麼樣|咋样|啥样|啥)[样樣]?的?人|边个|邊個)"
        r"|(?:关于|關於|有关|有關)我(?:的(?:一切|事|事情|信息|資訊|资料|資料|情况|情況|什么|什麼|所有))?(?:\W|$"
        r"|你|都|来|來|的|[这這][个個位][^，。？]{0,5}(?:[，。？]|$))"
        r"|(?:你|您)(?:的)?(?:眼里|眼裡|眼中|心里|心裡|心中|印象里|印象中|看来|看來)[^，。？]{0,3}我(?:是|算|像)"
        r"|我在(?:你|您)(?:的)?(?:眼里|眼裡|眼中|心里|心裡|心中|印象里|印象中)"
        r"|(?:知道|晓得|曉得|记得|記得|了解|瞭解|记住|記住|记了|記了|记下|記下|清楚|掌握)[^，。？]{0,3}我"
        r"(?:的|这个人|這個人)?(?:有)?(?:哪些|什么|什麼|些|啥|多少|事|一切|情况|情況)"
        r"|(?:介绍|介紹|描述|形容|概括|总结|總結|评价|評價)(?:一下|下)?(?:我(?:这个|這個)?(?:人|$|\W|自己|吧)|一下我)"
        r"|(?:总结|總結|复述|複述|概括|回顾|回顧|说说|說說|讲讲|講講|列出|列一下)[^，。]{0,4}我(?:跟|和|对|對"
        r"|告诉|告訴|说|說|讲|講)[^，。]{0,5}(?:你|过|過)"
        r"|(?:认得|認得|认识|認識|还记得|還記得|记得|記得)我(?:吗|嗎|不|么|是谁|是誰|\W|$)|我(?:这个|這個)人"
        r"|我(?:是|長|长)(?:怎样|怎樣|什么样|什麼樣|啥样)|我的(?:画像|畫像|档案|檔案|个人信息|個人資訊|个人资料"
        r"|個人資料|简介|簡介)"
        r"|(?:知道|晓得|曉得|记得|記得|了解|存的?|存了|记着|記著)我(?:的)?(?:哪些|什么|什麼|些什么|些什麼|啥|些啥"
        r"|多少)|我的(?:所有)?(?:信息|資訊|资料|資料|情况|情況)(?:都|全|有哪些|\W|$)"
    ),
    request=pattern(
        r"推荐|推薦|建议|建議|帮我|幫我|帮忙|幫忙|给我|給我|替我|请(?!问)|請(?!問)|安排|写|寫|选|選|挑|来点|來點"
        r"|想想|出个主意|出個主意"
    ),
    shortest_request=0,
    greeting="你好|您好|谢谢",
    instruction=f"(?:[请請]|麻[烦煩])?{alternatives('standing_wishes')}",
    wish=pattern("我(?:更|比较|比較)?(?:喜欢|喜歡|希望)你|(?:句|字|行|条|條)(?:以内|以內|之内|之內|就行|就够|就夠)"),
    birth=pattern("出生|生于|生於"),
    either=pattern(r"\s*(?:或者?|还是|還是)\s*"),
    year=pattern(r"\d{4}|[〇零一二三四五六七八九]{4}年"),
    first_person=frozenset("我"),
    wide=True,
)
