"""Patterns of Chinese sentences: questions, answers without knowledge, requests, standing wishes."""

from __future__ import annotations

from memscope.imports import pattern
from memscope.languages.statement_rules import Statements
from memscope.languages.zh.words import alternatives

# words and characters of questions that name only the asker, knowledge about them, and the conversation
_OF_THE_USER = pattern(
    "知道|[晓曉]得|[记記]|了解|瞭解|[认認][识識得]|印象|自我介[绍紹]|介[绍紹]一?下?我|描述|形容|[资資]料|信息|[档檔]案|[画畫]像|我是[谁誰]"
    "|我(?:這個|这个)?是?个?個?(?:啥|什[么麼]|怎)[么麼樣样]?的?人"
)
_ADDRESSED = pattern("[你您]|自我|我是")
_CONVERSING = frozenset(
    "我你您的了吗嗎呢吧啊呀嘛么麼哦啲嘅得不没沒是有在就都还還也又再和跟与與对對关關于於把将將给給请請帮幫让讓能可以会會要想来來到过過"
    "些这這那个個什啥乜嘢谁誰哪多少几幾怎样樣为為所一二两句话話下说說讲講告诉訴看聊谈談写寫用列出总總结結概括回答知道晓曉记記了解瞭认認识識"
    "印象眼心里裡中住长長年月天久自介绍紹描述形容资資料信息档檔案画畫像人事情况況全部凡從从以前之"
)


class ChineseStatements(Statements):
    def plain(self, text: str) -> str:
        """Keep the punctuation, which the patterns contain."""
        return text.lower()

    def length(self, text: str) -> int:
        return len(text)

    def asks(self, sentence: str) -> bool:
        if len(sentence) > self.longest_question or self.no_question.search(sentence) or "，" in sentence[:-1]:
            return False
        return self.question.search(sentence) is not None

    def asks_about_user(self, query: str) -> bool:
        if "我" not in query:
            return False
        folded = self.plain(query)
        if self.about_user.search(folded):
            return True
        addressed = _ADDRESSED.search(folded) and _OF_THE_USER.search(folded)
        return addressed is not None and all(one in _CONVERSING for one in folded if one.isalnum())


STATEMENTS = ChineseStatements(
    question=pattern(
        r"(?:吗|嗎|么|呢|咩)\W*$"
        r"|(?<![没沒])(?:什么|什麼|甚麼|啥|谁|誰|乜|咩|邊(?:度|個|区|區|日)|幾多|哪(?!怕)|几号|幾號|几点|幾點"
        r"|几时|幾時|几岁|幾歲|多少|多大|多久|怎么|怎麼|咋|如何|为何|為何|邊個|邊度)(?!.{0,8}(?:都|也))"
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
        r"|告訴|说|說|提|讲|講)|(?:唔|未|仲未)(?:清楚|知道?|記得)|冇[^，。！？]{0,4}(?:記錄|記録|资料|資料|印象)"
        r"|(?:没有?|沒有?|无|無|查不到|找不到|未)[^，。！？]{0,8}(?:信息|資訊|资料|資料|记录|記錄|紀錄|提到|提过"
        r"|提過|记到|記到|印象)"
        r"|(?:信息|資訊|资料|資料|记录|記錄|紀錄)[^，。！？]{0,6}(?:没有|沒有|没存|沒存|不在|暂无|暫無)"
    ),
    but="但|不过|不過|可是|只知道|只記得|只记得",
    sorry="抱歉|对不起|對不起|不好意思|很抱歉|很遗憾",
    recap="(?:就像)?我(?:之前|刚才|剛才)?(?:说过|說過|讲过|講過)",
    continues=pattern("^[^，。！？]{0,2}[他她它]|[他她它][们們]?\\W*$"),
    final_particles=pattern("(?:[啊呀哦喔啦嘛呢吧哈诶欸唷哟]+)(?=\\W|$)"),
    about_user=pattern(
        r"我(?:到底|究竟)?(?:是|系|係)(?:谁|誰|个?啥人|個?啥人|(?:一)?[个個]?(?:什么|什麼|甚麼|怎样|怎樣|怎么样"
        r"|怎麼樣|咋样|啥样|啥)[样樣]?的?人|边个|邊個)"
        r"|(?:关于|關於|有关|有關)我(?:的(?:一切|事|事情|信息|資訊|资料|資料|情况|情況|什么|什麼|所有))?(?:\W|$"
        r"|你|都|来|來|的|[这這][个個位][^，。？]{0,5}(?:[，。？]|$))"
        r"|(?:介绍|介紹|描述|形容|概括|总结|總結|评价|評價)(?:一下|下)?(?:我(?:这个|這個)?(?:人|$|\W|自己|吧)|一下我)"
        r"|我(?:这个|這個)人|我的(?:画像|畫像|档案|檔案|个人信息|個人資訊|个人资料|個人資料|简介|簡介)"
        r"|(?:帮我|幫我|给我|給我|我要|我想)[^，。]{0,3}(?:写|寫|做|准备|準備)[^，。]{0,4}"
        r"(?:简历|簡歷|履历|履歷|自我介绍|自我介紹|求职信|求職信|自荐信|自薦信|个人简介|個人簡介)"
        r"|我的(?:所有)?(?:信息|資訊|资料|資料|情况|情況)(?:都|全|有哪些|\W|$)"
    ),
    request=pattern(
        r"推荐|推薦|建议|建議|帮我|幫我|帮忙|幫忙|给我|給我|替我|请(?!问)|請(?!問)|安排|写|寫|选|選|挑|来点|來點"
        r"|想想|出个主意|出個主意"
    ),
    shortest_request=0,
    greeting="你好|您好|谢谢",
    instruction=f"(?:[请請]|麻[烦煩])?{alternatives('standing_wishes')}",
    wish=pattern("我(?:更|比较|比較)?(?:喜欢|喜歡|希望)你"),
    manner=pattern(  # looks ahead for the first characters, so that most positions are tried once
        "(?=[句行条條段字简簡长長啰囉表颜顏e大白术術专專繁中英普粤粵敬语語分列鸡雞客废廢套官称稱结結感标標])"
        "(?:[句条條段字](?:话|話|以[内內]|之[内內]|就|[够夠]|$)|(?<=[\\d一二两兩三四五六七八九十百几幾])行(?:以[内內]|之[内內]|就|[够夠]|$)|[简簡][短洁潔]|[长長]篇|[啰囉][嗦唆]|表格|表情|颜文字|顏文字|emoji|大?白[话話]|[术術][语語]"
        "|[专專][业業][词詞]|[简簡繁][体體]|中文|英文|普通[话話]|[粤粵][语語]|敬[语語]"
        "|[语語][气氣]|[分列][点點]|[鸡雞][汤湯]|客套|[废廢][话話]|[套官]腔|[称稱]呼|[结結][论論]|感[叹歎嘆][号號]|[标標][点點])"
    ),
    measures=pattern("公制|英制|[摄攝]氏|[华華]氏|公里|[用按]克|24小[时時]|英里|磅|量杯"),
    insists=pattern(
        "[别別](?!人|的)|不要|不用|甭|一律|[统統]一|[尽儘盡]量|以[后後](?=[^，。]{0,4}(?:回|跟|和|都|[别別]|[请請]|用))|每次|[从從](?:今|[现現])"
        "|超[过過]|最多|[跟和给給对對回]我|希望你|喜[欢歡]你|[请請麻]"
    ),
    once=pattern(
        "翻[译譯]|[写寫][个個篇首封一]|帮我|幫我|上次|用一句|改成|改[得写寫]|[润潤]色|[总總][结結]一?下|[缩縮]|[这這][段句篇]|下面|以下[是的：:]|[：:“「]|想[个個]|起[个個]"
        "|[说說讲講]了|[问問]了|[听聽]|昨|今天|[刚剛]"
    ),
    birth=pattern("出生|生于|生於"),
    numeral=pattern(  # 八千六, 三个, but not 一下, 三三两两
        "[〇零一二三四五六七八九十百千万萬两兩]{2,}(?<!十分)(?<!千万)(?<!一一)(?<!万一)"
        "|[二三四五六七八九十两兩俩仨半](?=[个個位只件块塊元次天年月岁歲点點分号號斤米本套节節期层層]|公里|小时|小時)"
    ),
    either=pattern(r"\s*(?:或者?|还是|還是)\s*"),
    year=pattern(r"\d{4}|[〇零一二三四五六七八九]{4}年"),
    first_person=frozenset("我"),
    wide=True,
)
