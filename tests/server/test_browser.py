"""The inspector in a real browser: every page in both languages, forgetting, and no script from stored text."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

selenium = pytest.importorskip("selenium", reason="selenium is not installed")
axe = pytest.importorskip("axe_core_python.selenium", reason="axe-core-python is not installed")

from selenium import webdriver  # noqa: E402
from selenium.common.exceptions import WebDriverException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

from memscope_server.tokens import TokenFile  # noqa: E402

from .conftest import fill, serving  # noqa: E402
from .story import tell_all  # noqa: E402
from servers.faults import FaultServer  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="no browser: Debian's packages chromium and chromium-driver bring one"
    ),
]
FLAGS = (
    "headless=new no-sandbox disable-gpu disable-quic no-first-run disable-sync disable-background-networking "
    "disable-component-update disable-dev-shm-usage window-size=1100,1000"
).split()
PAGES = (
    "", "records", "chat", "records?as_of=2026-03-03", "records/fact-berlin", "records/insight-home",
    "ask?q=Where+do+I+live%3F", "entities", "entities/Lisbon", "timeline?by=day", "blocks", "blocks/human", "review",
    "forget", "forget?id=fact-diet",
)  # fmt: skip
LABELS = {"en": ("Overview", "Memory of alice"), "zh": ("概览", "alice 的记忆")}
DOCS = Path(__file__).parents[2] / "docs"
PICTURES = {  # in the docs: user, language, colour scheme, page, text to wait for
    "inspector-overview": ("maya", "en", "light", "", "Lead cartographer"),
    "inspector-why": ("maya", "en", "dark", "ask?q=Which+city+did+I+travel+to+in+October%3F", "said in the period"),
    "inspector-review": ("小悦", "zh", "light", "review", "它将取代"),
    "inspector-entities": ("小悦", "zh", "dark", "entities", "何萌"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    with tempfile.TemporaryDirectory(prefix="memscope-chromium-") as profile:
        for flag in (*FLAGS, f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
        try:
            yield driver
        finally:
            driver.quit()


def sign_in(browser, served, secret):
    browser.delete_all_cookies()
    browser.get(f"{served.root}/login")
    browser.find_element(By.NAME, "token").send_keys(secret, Keys.ENTER)
    WebDriverWait(browser, 60).until(lambda driver: not driver.current_url.endswith("/login"))


def choose(browser, served, language):
    browser.add_cookie({"name": "lang", "value": language})
    browser.get(f"{served.root}/u/alice/")


def text(browser):
    return browser.find_element(By.TAG_NAME, "body").text


def wait_for(browser, words):
    """Wait for a page with this text. Chrome raises various errors while the old page is being replaced."""
    waiting = WebDriverWait(browser, 60, ignored_exceptions=[WebDriverException])
    waiting.until(lambda driver: words in text(driver))


def fill_in(browser, name, words, inside="main"):
    field = browser.find_element(By.CSS_SELECTOR, f"{inside} [name={name}]")
    field.clear()
    field.send_keys(words)


def colours(browser, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("zh", "dark")])
def test_every_page_in_both_languages_is_accessible_and_runs_no_foreign_script(browser, served, language, scheme):
    colours(browser, scheme)
    sign_in(browser, served, served.alice)
    choose(browser, served, language)
    for label in LABELS[language]:
        assert label in text(browser)
    for page in PAGES:
        browser.get(f"{served.root}/u/alice/{page}")
        assert browser.find_element(By.TAG_NAME, "html").get_attribute("lang") == language
        assert "owned" not in browser.title and "Traceback" not in text(browser)
        found = axe.Axe().run(browser)
        serious = [(one["id"], page) for one in found["violations"] if one["impact"] in ("serious", "critical")]
        assert serious == []
    errors = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []


def test_a_hostile_text_is_shown_as_it_was_said(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/records?q=homepage")
    assert "<script>document.title=" in text(browser)
    assert not browser.find_elements(By.CSS_SELECTOR, "main script, main img")


def test_a_memory_shows_where_it_comes_from_and_what_superseded_it(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/records/fact-berlin")
    assert browser.find_element(By.TAG_NAME, "mark").text == "I live in Berlin"
    assert "What superseded it" in text(browser)
    browser.find_element(By.PARTIAL_LINK_TEXT, "The user moved to Lisbon.").click()
    wait_for(browser, "home: Lisbon")  # the insight derived from it
    assert browser.current_url.endswith("/records/fact-lisbon") and "What it superseded" in text(browser)


def test_asking_shows_why_with_bars(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/ask?q=Where+do+I+live%3F")
    bars = browser.find_elements(By.CSS_SELECTOR, "details[open] svg.bar")
    assert len(bars) > 3 and all(bar.is_displayed() and bar.size["width"] > 50 for bar in bars)
    left_out = browser.find_element(By.XPATH, "//section[h2='Left out']").text
    assert "The user lives in Berlin." in left_out and "superseded 2026-03-04" in left_out


def test_forgetting_by_keyboard_alone(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/records/{served.home}")
    browser.find_element(By.LINK_TEXT, "Forget this").send_keys(Keys.ENTER)
    wait_for(browser, "This would be forgotten")
    assert "The user is vegetarian." in text(browser)  # derived from it, so it goes as well
    browser.find_element(By.CSS_SELECTOR, "button.danger").send_keys(Keys.ENTER)
    wait_for(browser, "This is the receipt")
    for page in ("", "records?closed=true", "ask?q=Berlin"):
        browser.get(f"{served.root}/u/alice/{page}")
        assert "vegetarian" not in text(browser) and "with my sister Kim" not in text(browser)
    browser.get(f"{served.root}/u/alice/records/fact-berlin")
    assert "There is nothing here" in text(browser)


def test_going_back_shows_nothing_that_another_tab_forgot(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/records/fact-diet")
    browser.get(f"{served.root}/u/alice/ask")
    with served.client(served.alice) as other:
        other.post("/api/v1/users/alice/forget", json={"ids": ["fact-diet"]}).raise_for_status()
    browser.back()
    wait_for(browser, "There is nothing here")


def test_a_proposal_is_accepted_and_a_memory_corrected(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/review")
    proposal = browser.find_element(By.CSS_SELECTOR, ".proposal").text
    assert "我喜欢喝绿茶" in proposal and "It would replace" in proposal and "The user is vegetarian." in proposal
    browser.find_element(By.XPATH, "//button[text()='Accept']").click()
    wait_for(browser, "Nothing waits for approval")
    browser.get(f"{served.root}/u/alice/records/fact-diet")
    assert "用户喜欢绿茶。" in browser.find_element(By.XPATH, "//section[h2='What superseded it']").text
    browser.get(f"{served.root}/u/alice/records/fact-lisbon")
    browser.find_element(By.XPATH, "//summary[text()='Correct']").click()
    fill_in(browser, "text", "The user moved to Porto.")
    browser.find_element(By.XPATH, "//button[text()='Save']").click()
    wait_for(browser, "Earlier versions")
    assert "The user moved to Porto." in browser.find_element(By.TAG_NAME, "blockquote").text


def test_a_block_is_edited_and_reverted(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/blocks")
    browser.find_element(By.CSS_SELECTOR, "#human summary").click()
    fill_in(browser, "value", "Alice lives in Porto.", inside="#human")
    fill_in(browser, "reason", "she moved again", inside="#human")
    browser.find_element(By.CSS_SELECTOR, "#human button").click()
    wait_for(browser, "version 3")
    browser.get(f"{served.root}/u/alice/blocks/human")
    assert browser.find_element(By.CSS_SELECTOR, ".added").text.endswith("Alice lives in Porto.")
    assert "she moved again" in text(browser) and "a cook" in browser.find_element(By.CSS_SELECTOR, ".removed").text
    browser.find_elements(By.XPATH, "//button[contains(., 'Bring this back')]")[0].click()
    wait_for(browser, "version 4")
    browser.get(f"{served.root}/u/alice/")
    assert "Alice, a cook." in text(browser) and "Alice lives in Porto." not in text(browser)


def test_the_slider_shows_what_was_known_on_a_day(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/records?kind=observation")
    assert "The user moved to Lisbon." in text(browser) and "The user lives in Berlin." not in text(browser)
    browser.find_element(By.CSS_SELECTOR, "input[type=range]").send_keys(Keys.HOME)  # the first day
    wait_for(browser, "The user lives in Berlin.")
    assert "The user moved to Lisbon." not in text(browser) and "as_of=2026-03-02" in browser.current_url


def test_the_slider_asks_as_of_an_earlier_day(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/ask?q=Where+do+I+live%3F")
    browser.find_element(By.CSS_SELECTOR, "input[type=range]").send_keys(Keys.HOME)  # the first day
    wait_for(browser, "what was known at the end of 2026-03-02")
    assert "as_of=2026-03-02" in browser.current_url and "q=Where" in browser.current_url
    assert "Lisbon" not in browser.find_element(By.CSS_SELECTOR, ".hits").text


def test_the_graph_and_the_timeline_link_to_pages(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/entities")
    browser.find_element(By.XPATH, "//*[local-name()='svg']//*[local-name()='a'][contains(., 'Kim')]").click()
    wait_for(browser, "Around Kim")
    assert browser.current_url.endswith("/entities/Kim") and "my sister" in text(browser)
    browser.find_element(By.CSS_SELECTOR, ".columns a").send_keys(Keys.ENTER)  # the week in which it was mentioned
    wait_for(browser, "with my sister Kim")
    assert "since=2026-03-02" in browser.current_url


def test_a_foreign_user_and_a_wrong_token(browser, served):
    sign_in(browser, served, served.bob)
    for page in PAGES:
        browser.get(f"{served.root}/u/alice/{page}")
        assert "There is nothing here" in text(browser) and "Lisbon" not in text(browser)
    browser.delete_all_cookies()
    browser.get(f"{served.root}/login")
    browser.find_element(By.NAME, "token").send_keys("memscope_wrong", Keys.ENTER)
    wait_for(browser, "not valid")


def test_an_operator_sees_users_and_jobs_and_the_link_signs_in(browser, served):
    browser.delete_all_cookies()
    browser.get(f"{served.root}/login?token={served.operator}")
    assert "token=" not in browser.current_url and "bob" in text(browser)
    browser.get(f"{served.root}/jobs")
    assert "consolidate" in text(browser)
    browser.find_element(By.XPATH, "//button[text()='中文']").click()
    wait_for(browser, "任务")


def scrolled(browser):
    """Scroll to the end and return the number of rows."""
    script = "scrollTo(0, document.body.scrollHeight); return document.querySelectorAll('#rows .row').length"
    return browser.execute_script(script)


def test_scrolling_loads_ten_thousand_memories(browser, served):
    turns = [{"role": "user", "content": f"Remark number {number}."} for number in range(10_000)]
    with served.client(served.alice) as client:
        for start in range(0, len(turns), 2000):
            client.post("/api/v1/users/alice/turns", json={"turns": turns[start : start + 2000]}).raise_for_status()
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/records")
    shown = len(browser.find_elements(By.CSS_SELECTOR, "#rows .row"))
    assert shown <= 200 and "Remark number 9999." in text(browser)
    for wanted in (300, 1000):
        WebDriverWait(browser, 60, poll_frequency=0.05).until(lambda driver: scrolled(driver) >= wanted)  # noqa: B023
    assert text(browser).count("Remark number 9321.") == 1


def test_the_first_tab_stop_skips_the_menu(browser, served):
    sign_in(browser, served, served.alice)
    browser.get(f"{served.root}/u/alice/")
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    first = browser.switch_to.active_element
    assert first.text == "Skip to the content" and first.location["x"] >= 0
    first.send_keys(Keys.ENTER)
    browser.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("href").endswith("/records?kind=turn")


#: Script that finds defects of a page on a phone: the number of elements wider than the screen, whether the active tab
#: is out of sight, and names in columns that are too narrow.
NARROW = """
const wide = [document.documentElement, ...document.querySelectorAll(".scroll")].filter(
  (one) => one.scrollWidth > one.clientWidth + 1);
const tab = document.querySelector("nav [aria-current]")?.getBoundingClientRect();
const names = [...document.querySelectorAll("th[scope=row], .chip, .whose, .meta b, h1")].filter(
  (one) => one.offsetHeight > 60 && one.offsetWidth < 80);
return [wide.length, tab ? tab.left < 0 || tab.right > innerWidth : false, names.map((one) => one.textContent)];
"""


@pytest.fixture
def phone(browser):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_phone_needs_no_sideways_scrolling_and_shows_the_tab_and_whole_names(phone, served):
    sign_in(phone, served, served.operator)
    for page in (*(f"u/alice/{page}" for page in PAGES), "u/nobody/", "jobs", ""):
        phone.get(f"{served.root}/{page}")
        assert phone.execute_script(NARROW) == [0, False, []], page


@pytest.fixture
def talking(tmp_path) -> Iterator[str]:
    """Serve Alice's memory with a chat model and yield the URL that signs her in."""
    asyncio.run(fill(tmp_path / "memory.db"))
    tokens = TokenFile(tmp_path / "tokens.json")
    _, secret = tokens.add("user", "alice")
    with FaultServer(script=[{"match": ".", "reply": "In March, <b>I think</b>."}]) as model:
        chat = {"base_url": model.base_url, "model": "test-chat"}
        with serving(tmp_path / "memory.db", tokens, {"chat": chat, "background": False}) as root:
            yield f"{root}/login?token={secret}"


def test_a_chat_lists_the_memories_of_an_answer_and_corrects_them(browser, talking):
    browser.delete_all_cookies()
    browser.get(talking)
    browser.get(talking.partition("/login")[0] + "/u/alice/chat")
    browser.find_element(By.NAME, "text").send_keys("When did I move to Lisbon?", Keys.ENTER)
    wait_for(browser, "In March, <b>I think</b>.")
    wait_for(browser, "lines of memory shown:")
    browser.find_element(By.CSS_SELECTOR, ".shown > summary").click()
    assert "I moved to Lisbon two weeks ago." in text(browser) and "found by words" in text(browser)
    line = browser.find_element(By.XPATH, "//li[.//a[contains(., 'I moved to Lisbon')]][contains(@class, 'row')]")
    line.find_element(By.XPATH, ".//summary[text()='Correct']").send_keys(Keys.ENTER)
    field = line.find_element(By.NAME, "text")
    field.clear()
    field.send_keys("The user moved to Porto.")
    line.find_element(By.XPATH, ".//button[text()='Save']").send_keys(Keys.ENTER)
    wait_for(browser, "Corrected.")
    assert "The user moved to Porto." in line.text
    browser.refresh()
    wait_for(browser, "In March, <b>I think</b>.")  # the address names the session
    browser.get(talking.partition("/login")[0] + "/u/alice/chat")
    browser.find_element(By.NAME, "text").send_keys("Am I vegetarian?", Keys.ENTER)
    wait_for(browser, "of memory shown:")
    browser.find_element(By.CSS_SELECTOR, ".shown > summary").click()
    other = browser.find_element(By.XPATH, "//li[@class='row'][.//a[contains(., 'vegetarian')]]")
    other.find_element(By.XPATH, ".//summary[text()='Forget']").send_keys(Keys.ENTER)
    other.find_element(By.XPATH, ".//button[text()='Forget it now']").send_keys(Keys.ENTER)
    wait_for(browser, "Forgotten.")
    assert "vegetarian" not in other.text
    browser.get(talking.partition("/login")[0] + "/u/alice/ask?q=vegetarian")
    assert "with my sister Kim" not in text(browser)
    assert axe.Axe().run(browser)["violations"] == []


@pytest.fixture(scope="module")
def stories(tmp_path_factory) -> Iterator[tuple[str, str]]:
    """Serve the memories of ``story.py`` and yield the URL and an operator's token."""
    folder = tmp_path_factory.mktemp("stories")
    asyncio.run(tell_all(folder / "memory.db"))
    tokens = TokenFile(folder / "tokens.json")
    _, secret = tokens.add("operator", None)
    with serving(folder / "memory.db", tokens) as root:
        yield root, secret


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_of_the_docs(browser, stories, name):
    """Take the screenshots of the docs again if INSPECTOR_PICTURES=1."""
    root, secret = stories
    user, language, scheme, page, words = PICTURES[name]
    colours(browser, scheme)
    browser.get(f"{root}/login?token={secret}")
    browser.add_cookie({"name": "lang", "value": language})
    browser.get(f"{root}/u/{user}/{page}")
    assert words in text(browser)
    if "INSPECTOR_PICTURES" in os.environ:
        from PIL import Image

        shown = Image.open(io.BytesIO(browser.get_screenshot_as_png())).crop((0, 0, 1080, 760))
        shown.convert("RGB").quantize(96).save(DOCS / f"{name}.png", optimize=True)
    taken = (DOCS / f"{name}.png").read_bytes()
    assert taken.startswith(b"\x89PNG") and len(taken) < 60_000
