"""The live page in a browser, beside a server that gets rows of which one view changes its unit."""

import base64
import contextlib
import json
import os
import shutil
import signal
import sys
import time
import urllib.request
from importlib.util import find_spec

import pytest

import crossview
import forks
from crossview import datasets
from fuzz.servers import wait_for_port

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None or find_spec("selenium") is None:
    pytest.skip("needs Chromium, its driver and selenium", allow_module_level=True)
if sys.platform == "win32":
    pytest.skip("starts a fork", allow_module_level=True)

LABEL = "diagnosis"


@contextlib.contextmanager
def open_browser():
    """A browser, without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def post(address, path, body):
    request = urllib.request.Request(
        address + path, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def send(address, rows):
    """Predict rows, and give their labels, sixteen at a time, as they come."""
    for lo in range(0, len(rows), 16):
        some = [
            ({k: v for k, v in row.items() if k != LABEL}, row[LABEL]) for row in rows[lo:][:16]
        ]
        found = post(address, "/predict?durable=1", {"rows": [row for row, _ in some]})
        labels = [
            {"id": one["id"], "label": label}
            for one, (_, label) in zip(found["predictions"], some, strict=True)
        ]
        post(address, "/label", labels)
        while json.load(urllib.request.urlopen(address + "/stats"))["labels_to_learn"]:
            time.sleep(0.01)


def text_when(driver, name, fits):
    """The text of an element, as soon as it fits."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = driver.find_element("id", name).text
        if fits(found):
            return found
        time.sleep(0.1)
    raise AssertionError(found)


def heights(driver):
    """Mean height of the curve of the model in its first half and its last third; 0 is the top."""
    points = driver.find_element("css selector", "#curve .line.live").get_attribute("points")
    y = [float(point.split(",")[1]) for point in points.split()]
    parts = y[: len(y) // 2], y[-len(y) // 3 :]
    return [sum(part) / len(part) for part in parts]


def test_the_page_shows_that_drift_arrives(tmp_path):
    table = datasets.load("breast-cancer")
    rows = table.take([i * 211 % len(table) for i in range(len(table))]).to_pylist()
    crossview.train(
        table.take([i * 211 % len(table) for i in range(200)]),
        LABEL,
        model="arow:diagonal",
        in_order=True,
        output=tmp_path / "m.safetensors",
    )
    shutil.copy(tmp_path / "m.safetensors", tmp_path / "as-it-was.safetensors")
    argv = ["serve", tmp_path / "m.safetensors", "--data", tmp_path / "d", "--port", "0"]
    argv += ["--frozen-challenger", tmp_path / "as-it-was.safetensors"]
    errors = tmp_path / "errors"
    errors.write_text("")
    server = forks.start(argv, stdout=tmp_path / "out", stderr=errors)
    try:
        address = f"http://127.0.0.1:{wait_for_port(server, errors)}"
        with open_browser() as driver:
            driver.set_window_size(1280, 1000)
            driver.get(address)
            text_when(driver, "state", lambda text: text.startswith("0 predictions"))
            # 1. rows as in training
            send(address, rows[200:])
            text_when(driver, "state", lambda text: text.startswith("369 predictions, 369 labels"))
            views = text_when(driver, "views", lambda text: "worst" in text)
            assert "moved" not in views
            assert not driver.find_elements("css selector", "#warnings li")
            tiles = driver.find_element("id", "tiles").text
            assert "log loss, last hour" in tiles
            assert "first model:" in tiles
            assert {"benign", "malignant"} & set(driver.find_element("id", "now").text.split())
            text_when(driver, "challengers", lambda text: "as-it-was, frozen 369" in text)
            keep_picture(driver, tmp_path, "before")
            assert post(address, "/promote", {"name": "as-it-was"})["at"] == 369
            text_when(driver, "challengers-title", lambda text: text == "Challengers of as-it-was")
            assert post(address, "/promote", {"name": "first"})["serves"] == "first"
            # 2. another instrument and another reader: one view is in another unit in every second
            # row, and every third label is another one
            other = {"benign": "malignant", "malignant": "benign"}
            moved = [
                {k: v * (1 + 9 * (i % 2)) if k.startswith("worst__") else v for k, v in row.items()}
                | {LABEL: row[LABEL] if i % 3 else other[row[LABEL]]}
                for i, row in enumerate(rows[:320])
            ]
            send(address, moved)
            text_when(driver, "state", lambda text: text.startswith("689 predictions"))
            warnings = text_when(driver, "warnings", lambda text: "'worst'" in text)
            assert "view 'worst' is not as in training: its inputs" in warnings
            keep_picture(driver, tmp_path, "after")
            assert "the log loss has turned" in warnings
            assert "moved" in driver.find_element("id", "views").text
            before, after = heights(driver)
            assert after < before - 5  # higher up
            # 3. at the width of a phone nothing is cut off, and nothing was refused or failed
            keep_picture(driver, tmp_path, "after")
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
            )
            driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
            )
            wide = "return document.documentElement.scrollWidth"
            assert driver.execute_script(wide) <= 390
            dark = "return getComputedStyle(document.body).backgroundColor"
            assert driver.execute_script(dark) == "rgb(20, 24, 29)"
            keep_picture(driver, tmp_path, "phone")
            assert driver.get_log("browser") == []
            # 4. the policy lets nothing else run
            driver.execute_script(
                "const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
                "document.body.append(s)"
            )
            assert driver.execute_script("return window.ran") is None
            # 5. the server ends at once, also while a page looks
            began = time.monotonic()
            server.kill(signal.SIGTERM)
            assert server.wait() == 0
            assert time.monotonic() - began < 30
            text_when(driver, "state", lambda text: "No connection" in text)
    finally:
        with contextlib.suppress(ProcessLookupError):
            server.kill(signal.SIGKILL)


def test_numbers_from_nothing_are_readable(tmp_path):
    """There is no first model to be named; labels of the axis, as of prices, are not cut."""
    argv = ["serve", "--new", "--label", "price", "--task", "regression"]
    errors = tmp_path / "errors"
    errors.write_text("")
    argv += ["--data", tmp_path / "d", "--port", "0"]
    server = forks.start(argv, stdout=tmp_path / "out", stderr=errors)
    try:
        address = f"http://127.0.0.1:{wait_for_port(server, errors)}"
        sent = [{"row": {"n__a": t % 9}, "label": 250_000.0 * (t % 9)} for t in range(100)]
        for lo in (0, 20, 60):
            post(address, "/learn", sent[lo : {0: 20, 20: 60, 60: 100}[lo]])
            while json.load(urllib.request.urlopen(address + "/stats"))["labels_to_learn"]:
                time.sleep(0.01)
        with open_browser() as driver:
            driver.get(address)
            text_when(driver, "state", lambda text: text.startswith("100 predictions, 100 labels"))
            assert "first model" not in driver.find_element("tag name", "main").text
            assert "its square root: " in driver.find_element("id", "tiles").text
            shown = driver.find_element("id", "now").text.splitlines()
            assert shown[0].split() == ["time", "id", "prediction", "label"]
            assert not any("e+" in line for line in shown)
            left = "return [...document.querySelectorAll('#curve text')].map(t => t.getBBox().x)"
            assert min(driver.execute_script(left)) >= 0
            assert "e+" in driver.find_element("id", "curve").text
            keep_picture(driver, tmp_path, "numbers")
            assert driver.get_log("browser") == []
    finally:
        with contextlib.suppress(ProcessLookupError):
            server.kill(signal.SIGKILL)


def keep_picture(driver, folder, name):
    """Write a picture of the whole page where somebody wants to look at it."""
    keep = os.environ.get("CROSSVIEW_PICTURES")
    if keep:
        driver.execute_script("scrollTo(0, 0)")
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        with open(f"{keep}/{name}.png", "wb") as file:
            file.write(base64.b64decode(shot["data"]))
