"""Opens a page in a headless Chromium without a network, for the picture that CI keeps and for the tests."""

from __future__ import annotations

import base64
import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.errors import LabError

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAC_BROWSER = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


def find_browser() -> tuple[str, str] | None:
    """Returns the paths of Chromium or Chrome and of its driver, or None if one is missing."""
    browser = next((path for path in map(shutil.which, _BROWSERS) if path), None)
    if browser is None and os.access(_MAC_BROWSER, os.X_OK):
        browser = _MAC_BROWSER
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def needed() -> tuple[str, str]:
    """Returns the paths of the browser and of its driver, without importing anything.

    Raises ``LabError`` with what to install if selenium, the browser or its driver is missing.
    """
    if importlib.util.find_spec("selenium") is None:
        raise LabError("a picture needs selenium; pip install -e 'Experiments/lab[screenshot]' installs it.")
    found = find_browser()
    if found is None:
        raise LabError(
            "no Chromium or Chrome with chromedriver was found; install the packages chromium and chromium-driver."
        )
    return found


@contextmanager
def browser(width: int = 1280, height: int = 900, *, dark: bool = False) -> Iterator[Chrome]:
    """Starts a headless browser that resolves no host name, and ends it afterwards.

    Raises ``LabError`` if there is no selenium (the extra ``screenshot`` of this package), or no Chromium with its
    driver.
    """
    found = needed()
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = found[0]
    for argument in (
        "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--window-size={width},{height}",
    ):  # fmt: skip
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium's sandbox refuses to run as root.
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=ChromeService(executable_path=found[1]))
    try:
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        yield driver
    finally:
        driver.quit()


def open_page(driver: Chrome, path: str | os.PathLike[str], *, seconds: float = 60) -> None:
    """Opens a report and waits until all its charts are drawn. Raises ``LabError`` if they are not in time."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(Path(path).resolve().as_uri())
    try:
        WebDriverWait(driver, seconds, poll_frequency=0.05).until(
            lambda page: page.execute_script("return document.documentElement.dataset.ready === 'true'")
        )
    except TimeoutException:
        raise LabError(f"{os.fspath(path)}: its charts were not drawn within {seconds:g} s.") from None


def screenshot(
    page: str | os.PathLike[str], picture: str | os.PathLike[str], *, width: int = 1280, dark: bool = False
) -> None:
    """Writes a PNG of a whole report as Chromium shows it, ``width`` pixels wide.

    Raises ``LabError`` as ``browser`` and ``open_page``.
    """
    with browser(width, dark=dark) as driver:
        open_page(driver, page)
        content = capture(driver, width)
    from lab.tables import write_beside

    write_beside(Path(picture), lambda part: part.write_bytes(content))


def capture(driver: Chrome, width: int) -> bytes:
    """Returns the PNG of the whole page."""
    height = int(driver.execute_script("return Math.ceil(document.documentElement.scrollHeight)"))
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    shot: dict[str, Any] = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip}
    )
    return base64.b64decode(shot["data"])
