"""Headless Chromium for tests, spoken to through a pipe: nothing but the browser is needed, and no port is opened."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
# The browser reads commands from its file 3 and answers on its file 4.
_LAUNCH = "import os, sys; r, w, *c = sys.argv[1:]; os.dup2(int(r), 3); os.dup2(int(w), 4); os.execv(c[0], c)"
_PATIENCE = 60.0  # seconds


class Browser:
    """One browser, in which pages are opened one after the other."""

    def __enter__(self):
        self._folder = tempfile.mkdtemp(prefix="tellapart-browser-")
        to_read, self._commands = os.pipe()
        self._answers, to_write = os.pipe()
        # above 4, lest one overwrites the other
        theirs = [os.dup(fd) for fd in (to_read, to_write, to_read, to_write, to_read, to_write)][-2:]
        command = [CHROMIUM, *_OPTIONS, f"--user-data-dir={self._folder}"]
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _LAUNCH, *map(str, theirs), *command],
            pass_fds=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._count, self._buffer, self.events = 0, b"", []
        return self

    def __exit__(self, *_):
        self.call("Browser.close")
        self._process.wait(_PATIENCE)
        os.close(self._commands)
        os.close(self._answers)
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method, session=None, **parameters):
        """A command, and its answer; what happens meanwhile is kept in `events`."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        os.write(self._commands, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._count:
                assert "error" not in told, told
                return told["result"]
            self.events.append(told)

    def wait(self, method):
        """Until something has happened."""
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._next())

    def open(self, path, *, width=1400, dark=False):
        """A file in a new page."""
        return Page(self, path, width, dark)

    def _next(self):
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            self._buffer += os.read(self._answers, 2**20)
        told, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(told)


class Page:
    """An open page of a browser."""

    def __init__(self, browser, path, width, dark):
        self._browser, browser.events = browser, []
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="screen", features=[scheme])
        self.call("Page.navigate", url=path.as_uri())
        browser.wait("Page.loadEventFired")

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression):
        """The value of an expression, as JSON."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    @property
    def complaints(self):
        """What the console says, and dialogs that were opened."""
        loud = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening")
        return [e for e in self._browser.events if e.get("method") in loud]

    @property
    def requests(self):
        """Addresses that were asked for."""
        asked = [e for e in self._browser.events if e.get("method") == "Network.requestWillBeSent"]
        return [e["params"]["request"]["url"] for e in asked]

    def accessible(self):
        """What a screen reader is told: role and name of everything that is not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n["ignored"]]

    def picture(self, path):
        """A PNG file of the whole page."""
        told = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(told["data"]))

    def printed(self, path):
        """A PDF file of the page on A4."""
        told = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        path.write_bytes(base64.b64decode(told["data"]))
