import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# the first call of a jitted function compiles it, which is no slow test; under CI=true Hypothesis
# uses its own profile, without deadline and with fixed examples
settings.register_profile("local", deadline=None)
if not os.environ.get("CI"):
    settings.load_profile("local")

CHROMIUM = Path("/usr/bin/chromium")


def pytest_collection_modifyitems(items):
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """A running Chromium (Playwright's `Browser`); without one, tests that need it are skipped.

    SANTA_SIM_REQUIRE_BROWSER=1, as in `.ci/run`, turns that skip into a failure.
    """
    if not CHROMIUM.exists():
        reason = f"needs a browser: {CHROMIUM} is missing (Debian: apt-get install chromium)"
        if os.environ.get("SANTA_SIM_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium's sandbox does not start as root, and the pages shown here are our own
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()
