"""A headless browser for tests of pages; skips them where there is none."""

import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update")
SOFTWARE = ("--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A Chromium with WebGL in software."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chosen = os.environ.get("CHROMIUM")
    program = chosen or next((path for path in map(shutil.which, BROWSERS) if path), None)
    if program is None:
        pytest.skip("no Chromium is installed (on Debian or Ubuntu: make browser)")
    flags = ["--headless", "--no-sandbox", "--disable-sync", *QUIET, *SOFTWARE]
    profile = str(tmp_path_factory.mktemp("profile"))
    with api.sync_playwright() as playwright:
        options = {"executable_path": program, "args": flags, "viewport": {"width": 640, "height": 400}}
        context = playwright.chromium.launch_persistent_context(profile, **options)
        yield context
        context.close()


@pytest.fixture
def page(browser):
    """A new tab; the test fails if anything in it complained, or asked for something that it did not get."""
    tab = browser.new_page()
    tab.set_default_timeout(90_000)  # [ms]: software rendering beside a compiler may take a while
    tab.complaints, tab.requests = [], []
    tab.on("console", lambda m: tab.complaints.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.on("requestfailed", lambda request: tab.complaints.append(f"failed: {request.url}"))
    tab.on("request", lambda request: tab.requests.append(request.url))
    yield tab
    complaints = list(tab.complaints)
    tab.close()
    assert complaints == []
