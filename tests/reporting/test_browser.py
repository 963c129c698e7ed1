"""The pages in a real browser, on a phone and on a screen, light and dark."""

import json
import shutil
from importlib.util import find_spec

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None or find_spec("selenium") is None:
    pytest.skip("needs Chromium, its driver and selenium", allow_module_level=True)

WIDTHS, SCHEMES = (390, 1280), ("light", "dark")

# what sticks out of the window, unless it is in a box that scrolls
OVERFLOWING = """
const wide = innerWidth, found = [];
if (document.scrollingElement.scrollWidth > wide) found.push("the page");
for (const e of document.querySelectorAll("body *")) {
  const box = e.getBoundingClientRect();
  const inside = e.closest("svg") && !["svg", "text"].includes(e.tagName);  // is cut off
  if (box.width && !inside && !e.closest(".scroll, pre") && (box.right > wide + 1 || box.left < -1))
    found.push(e.tagName + ": " + e.textContent.trim().slice(0, 40));
}
return found;
"""
# names in tables that go on in the next line within a word
BROKEN = """
const found = [];
for (const cell of document.querySelectorAll("th, td.text")) {
  const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let node; node = walk.nextNode();)
    for (const word of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      if (word[0].length > 24) continue;  // wider than a column
      const range = document.createRange();
      range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (tops.size > 1) found.push(word[0]);
    }
}
return found;
"""
OPEN = "for (const one of document.querySelectorAll('details')) one.open = true;"
# text with a contrast below AA (WCAG 2.2, 1.4.3), by the pixels that its colors give
PALE = """
const canvas = document.createElement("canvas"); canvas.width = canvas.height = 1;
const paint = canvas.getContext("2d", {willReadFrequently: true}), known = new Map();
function rgba(color) {
  if (!known.has(color)) {
    paint.clearRect(0, 0, 1, 1); paint.fillStyle = color; paint.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
    known.set(color, [r, g, b, a / 255]);
  }
  return known.get(color);
}
const over = (top, alpha, below) => [0, 1, 2].map(i => alpha * top[i] + (1 - alpha) * below[i]);
function paper(e) {
  const layers = [];
  for (; e; e = e.parentElement) layers.unshift(rgba(getComputedStyle(e).backgroundColor));
  return layers.reduce((below, layer) => over(layer, layer[3], below), [255, 255, 255]);
}
function luminance(color) {
  const [r, g, b] = color.map(c => c / 255).map(
    c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const found = []; let checked = 0;
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  const style = getComputedStyle(e);
  if (!own || style.display === "none" || e.closest("style")) continue;
  const ink = rgba(e.tagName === "text" || e.tagName === "tspan" ? style.fill : style.color);
  const below = paper(e), text = over(ink, ink[3] * parseFloat(style.opacity), below);
  const [low, high] = [luminance(text), luminance(below)].sort((a, b) => a - b);
  const ratio = (high + 0.05) / (low + 0.05), size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  checked += 1;
  if (ratio < (large ? 3 : 4.5))
    found.push(ratio.toFixed(2) + " " + e.tagName + ": " + e.textContent.trim().slice(0, 40));
}
return [checked, found];
"""


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def files(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for kind, html in pages.items():
        (folder / f"{kind}.html").write_text(html, encoding="utf-8")
    return {kind: (folder / f"{kind}.html").as_uri() for kind in pages}


@pytest.mark.parametrize("kind", ["folds", "stream", "three", "number", "trained", "evaluated"])
def test_a_page_fits_is_readable_and_asks_for_nothing(browser, files, kind):
    for scheme in SCHEMES:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        for width in WIDTHS:
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            browser.get(files[kind])
            assert browser.execute_script("return innerWidth") == width
            assert browser.execute_script(OVERFLOWING) == []
            browser.execute_script(OPEN)
            assert browser.execute_script(OVERFLOWING) == []
            assert browser.execute_script(BROKEN) == []
        checked, pale = browser.execute_script(PALE)
        assert checked > 50
        assert pale == []
    assert browser.get_log("browser") == []
    sent = [json.loads(one["message"])["message"] for one in browser.get_log("performance")]
    urls = [
        m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"
    ]
    assert files[kind] in urls
    assert {url.partition(":")[0] for url in urls} <= {"file", "data"}


def test_a_link_to_a_folded_section_opens_it_and_a_script_could_not_run(browser, pages, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(pages["folds"].replace("</body>", "<script>document.title = 1</script></body>"))
    browser.get(f"{page.as_uri()}#columns")
    assert browser.title == "Comparison by crossview"
    assert any("Content Security Policy" in one["message"] for one in browser.get_log("browser"))
    shown = "return document.getElementById('columns').getBoundingClientRect().height"
    assert browser.execute_script(shown) > 100


def test_the_checks_of_the_browser_see_what_is_wrong(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<body style='background:#fff'><p style='color:#aaa'>pale</p>"
        "<table><tr><th><div style='width:3em;overflow-wrap:anywhere'>regression</div></table>"
        "<div style='width:3000px'>wide</div><img src='http://127.0.0.1:9/a.png'>"
        "<script>console.error('bad')</script>"
    )
    browser.get(page.as_uri())
    assert browser.execute_script(OVERFLOWING)[:2] == ["the page", "DIV: wide"]
    assert browser.execute_script(PALE)[1] == ["2.32 P: pale"]
    assert browser.execute_script(BROKEN) == ["regression"]
    assert any("bad" in one["message"] for one in browser.get_log("browser"))
    assert any("127.0.0.1" in one["message"] for one in browser.get_log("performance"))
