"""How heavy are the reports, how long do they take to load, and can everybody read them?

python benchmarks/report_pages.py  # writes a report of each data set, and looks at it
python benchmarks/report_pages.py sms_spam

Needs Chromium with its driver, and selenium. The checks are those of tests/report/test_browser.py.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "report")]

import test_browser as checks
from selenium import webdriver

from harness import table

CROSSVIEW = [sys.executable, "-m", "crossview"]
# the label, and what else `compare` needs to know
SETS = {
    "breast-cancer": ["--label", "diagnosis"],
    "digits": ["--label", "digit"],
    "sms_spam": ["--label", "kind"],
    "movielens_100k": ["--label", "rating", "--task", "regression", "--progressive"],
}
TIMES = (
    "const t = performance.getEntriesByType('navigation')[0]; return [t.loadEventEnd, t.duration];"
)


def look(browser: webdriver.Chrome, page: Path) -> list[str]:
    """Return what the browser says of a page, at both widths and in both schemes."""
    loads, wide, pale, n_texts = [], [], [], 0
    for scheme in checks.SCHEMES:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        for width in checks.WIDTHS:
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            browser.get(page.as_uri())
            loads.append(browser.execute_script(TIMES)[0])
            wide += browser.execute_script(checks.OVERFLOWING)
        n_texts, found = browser.execute_script(checks.PALE)
        pale += found
    log = [json.loads(one["message"])["message"] for one in browser.get_log("performance")]
    urls = [
        m["params"]["request"]["url"] for m in log if m["method"] == "Network.requestWillBeSent"
    ]
    outside = [url for url in urls if url.partition(":")[0] not in ("file", "data")]
    return [
        f"{page.stat().st_size / 1024:.0f} KB",
        f"{sorted(loads)[len(loads) // 2]:.0f} ms",
        str(len(outside)),
        f"{len(pale)} of {n_texts}",
        str(len(wide)),
        str(len(browser.get_log("browser"))),
    ]


def main() -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = checks.CHROMIUM
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(checks.DRIVER))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or SETS:
            data, page = Path(folder) / f"{name}.parquet", Path(folder) / f"{name}.html"
            subprocess.run([*CROSSVIEW, "datasets", name, "-o", data], check=True)
            command = [*CROSSVIEW, "compare", data, *SETS[name], "--report", page]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            rows.append([name, *look(browser, page)])
    browser.quit()
    header = ["report of", "size", "loaded after", "requests", "texts paler than AA"]
    print(table([*header, "wider than the window", "messages on the console"], rows))


if __name__ == "__main__":
    main()
