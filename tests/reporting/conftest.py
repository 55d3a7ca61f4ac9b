"""A real browser, and the pages of models in it."""

import json
import shutil
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def start_browser(width=1280, height=900):
    """Chromium without a window, whose console and network can be read."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    assert program is not None, "these tests need Chromium: apt-get install chromium chromium-driver"
    assert driver is not None, "these tests need chromedriver: apt-get install chromium-driver"
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",  # which root cannot have
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        f"--window-size={width},{height}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


class Page:
    """A report in the browser."""

    def __init__(self, driver):
        self.driver = driver
        self.requests = []

    def open(self, path):
        self.driver.get(Path(path).as_uri())
        self.finish()
        return self

    def finish(self):
        """Wait for what the page still computes."""
        self.driver.set_script_timeout(20)
        self.driver.execute_async_script(
            "const done = arguments[0];"
            "const look = () => softwoodReport.page.now.certificate === null ? setTimeout(look, 5) : done();"
            "requestAnimationFrame(() => requestAnimationFrame(look));"
        )

    def run(self, code, *arguments):
        """The result of a piece of JavaScript, as exact numbers."""
        return json.loads(self.driver.execute_script(f"return JSON.stringify((() => {{{code}}})())", *arguments))

    def text(self, selector):
        return self.driver.execute_script("return document.querySelector(arguments[0]).textContent", selector)

    def set(self, selector, value, event="input"):
        """Move a control as a person does."""
        self.driver.execute_script(
            "const field = document.querySelector(arguments[0]);"
            "if (field.type === 'checkbox') field.checked = arguments[1]; else field.value = arguments[1];"
            "field.dispatchEvent(new Event(arguments[2], { bubbles: true }));",
            selector, value, event,
        )  # fmt: skip
        self.finish()

    def complaints(self):
        """What the console says, and all requests but that for the page itself."""
        console = [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        return console, [url for url in self.requests if not url.startswith(("file:", "data:", "about:", "chrome:"))]


@pytest.fixture(scope="session")
def driver():
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture
def page(driver):
    """A page that must not complain, and that asks for nothing but itself."""
    page = Page(driver)
    yield page
    console, requests = page.complaints()
    assert console == []
    assert requests == []
