"""Patterns of Chinese questions: what a question asks for by its wording."""

from memscope.imports import pattern
from memscope.languages.classes import Classes
from memscope.languages.question_rules import Questions
from memscope.languages.zh.name_lists import ROLE_PATTERN
from memscope.languages.zh.words import FOLDER, HOUSEHOLD, OWN_DUTY, OWN_ERRAND, OWN_PURCHASE, POINTED_AT
from memscope.text.language import CJK

_STOP = frozenset(
    "的了是在我你他她它们这那有和与及就都也还不没吗呢吧啊呀么什啥哪谁怎咋样为之其把被让给对从到于上下中个些几多少请问说"
    "们這與還沒嗎麼誰樣為讓給對從於個幾請問說"
)
_OPENING_WORDS = (
    "(?:请问|請問|那么|那麼|话说|話說|对了|對了|[你您]?还?还?(?:知道|记得|記得)|[那这這][个個位]|[那请請]"
    "|现在|最近|目前|平时|以前|之前|后来|上次|下次|今[天年]|明[天年]|昨天|去年|到底|究竟|一般|通常|現在|平時|後來"
    "|(?:解释|解釋|介绍|介紹|翻译|翻譯|说明|說明|比较|比較|分析|总结|總結|证明|證明|计算|計算|讲讲|講講|说说|說說)(?:一下)?)"
)
_INTRODUCED = f"(?:^|[^{CJK}]|[跟和與与給给找问問比被让讓]|[那这這][个個位]|关于|關於|叫)"

QUESTIONS = Questions(
    number=pattern(r"多少[钱錢]?|(?<![哪荐薦])(?<!给我)几[次个天年月岁点位本家只件块]|多[大久长高远重]"),
    when=pattern(
        r"(?:什[么麼]|啥)[时時](?:候|辰|)|何时|何時|[几幾][时時]|多[会會][儿兒]|多咱|哪[会會][儿兒]|哪[天日年]|哪[个個]月"
        r"|几[号月日]|幾[號月日]|日期|多久(?:以)?前"
    ),
    day_words=pattern("日期"),
    past=pattern(  # "约了谁" is about a future day, 是哪天来的 about a past one
        r"[从從自][什啥甚][么麼]?[时時]候|是[什啥甚哪几幾][^，。]{0,12}的\W*$"
        r"|(?<![约約订訂])了|(?<![么麼])[过過](?![几幾两兩][天日]|敏)|(?<!有)[没沒]有"
    ),
    ahead=pattern(
        r"打算|[将將]要|有空|忙不忙|[约約]了|日程|要(?:[办辦]|做的)|[没沒][办辦]"
        r"|(?:最近|近期|接下[来來])[^，。]{0,6}(?:安排|[计計][划劃]|事|活[动動]|[要会會])"
        r"|有(?:什么|什麼|啥|哪些|没有|沒有)(?:安排|计划|計劃|事|活动|活動|约|約|预约|預約)"
    ),
    named_time=pattern("[〇零一二三四五六七八九十節节]|[周週]末"),
    assistant=pattern("你.{0,6}(?:推荐|建议|告诉|说过|提到|提议)"),
    talk=pattern("聊|[讨討][论論]|[问問][过過]|[话話][题題]|提到|[对對][话話]|[总總][结結]"),
    personal=pattern(
        "我|咱|俺|推荐|建议|帮|给|选|订|买|安排|讲讲|说说|来[个点一份首]|写|吃[什啥]|去哪|主意"
        "|(?<![猜思理联聯感幻])想|入手|咋|怎么[办做挂选弄写搭样]|怎[麼么][樣样]|行不行|好不好|合[適适][吗嗎]|行[吗嗎]"
        f"|可以[吗嗎]|要不要|[该該]不[该該]|{OWN_DUTY}|{OWN_ERRAND}|{OWN_PURCHASE}|{POINTED_AT}|{HOUSEHOLD}"
    ),
    definite=pattern(""),
    contentless=pattern(
        "[上下][次回]|[关關][于於]|有[关關]|[你您]?(?:知道|了解|[记記]得)(?:[些什甚]?[么麼些]|啥)|告[诉訴]我|介[绍紹]一下"
    ),
    list=pattern(
        "哪些|(?:哪|[那邊边](?![几幾]?[天日号號周週月年]))[几幾]|所有|全部|全都|[总總一]共|分[别別]|列(?:一下|出|个|個|[张張])|帮?我列|清[单單]|名[单單]"
        "|[过過]些?(?:什[么麼]|啥)|[谁誰][^，。]{1,10}(?<![难難不经經超通])[过過](?![敏年节節生几幾两兩])|我[^，。]{0,2}[对對](?:什[么麼]|啥)"
        "|一遍|盘点|汇总|总結|都(?:有|是|在|去|跟|和|吃|看|买|買|做)?[^，。？?]{0,6}(?:什么|什麼|哪|谁|誰|啥)"
        "|[哪谁誰啥].{0,6}都|(?:什么|什麼).{0,4}都|每[个個位只本家样樣]"
    ),
    works=pattern("书|書|电影|電影|戏|戲|剧|劇|小说|小說|歌|游戏|遊戲|专辑|專輯|动画|動畫|番"),
    title=pattern("《[^》]+》|「[^」]+」"),
    classes=Classes(FOLDER / "classes.txt", asking=pattern("哪|什[么麼]|啥|[几幾]|所有|全部")),
    refers=pattern(
        "^(?!.*[我咱俺你您这這])(?=.{2,30}$)(?:.*(?<![其吉])[他她它牠].*(?:[?？]|吗|嗎|呢|什[么麼]|啥|[谁誰哪几幾]|多|怎)"
        "|那(?![个個些么麼种種边邊里裡家位次天年]).*(?:什[么麼]|啥|[谁誰哪几幾]|多少|多[大高长長久重远遠]|怎|呢)|[^，。]{1,6}呢\\W*$)"
    ),
    referents=pattern(
        f"[我咱俺][们們]?[的家]?(?:{ROLE_PATTERN})|[我咱俺][们們]?的[{CJK}]{{1,3}}|那[个個位只隻条條辆輛家本部台][{CJK}]{{1,3}}"
    ),
    own=pattern("[我咱俺]|那[个個位家]"),
    subject=pattern(f"{_INTRODUCED}{_OPENING_WORDS}*+([{CJK}])(?=([{CJK}]))"),
    stop_characters=_STOP,
    open_characters=_STOP
    | frozenset(
        "安排计計划劃事情发發生做干幹嘛活动動日程约約忙空过過去来來记記得忘能要会會没沒家里裡儿兒出想那天最近期接办辦"
    ),
    soon="未来三十天",
    me="我",
    my="我的",
)
