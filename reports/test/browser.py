"""Headless Chromium over a pipe, by its DevTools protocol: nothing but Python's standard library.

Messages are JSON with a zero byte after each; the browser reads them from its file descriptor 3 and writes to 4.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self, width=1400, height=900, dark=False):
        self.folder = tempfile.TemporaryDirectory(prefix="assay-browser-")
        to_child, self.to = os.pipe()
        self.back, from_child = os.pipe()

        def wire():
            a, b = os.dup(to_child), os.dup(from_child)  # neither is 3 or 4 any more
            os.dup2(a, 3)
            os.dup2(b, 4)
            for fd in (3, 4):
                os.set_inheritable(fd, True)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-extensions",
             f"--user-data-dir={self.folder.name}", f"--window-size={width},{height}", "--remote-debugging-pipe",
             "about:blank"],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "HOME": self.folder.name})
        os.close(to_child)
        os.close(from_child)
        self.rest, self.last, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.resize(width, height)
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close", limit=10)
            self.process.wait(10)
        except Exception:
            os.killpg(self.process.pid, 9)  # its own group: what it started goes, too
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.folder.cleanup()

    def message(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            read = os.read(self.back, 1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self.rest += read
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, limit=60, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + limit
        while True:
            answer = self.message(until)
            if answer.get("id") != self.last:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def run(self, expression):
        """The value of an expression of JavaScript in the page; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait(self, expression, limit=60):
        until = time.monotonic() + limit
        while not self.run(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"never true: {expression}; {self.complaints()}")
            time.sleep(0.02)

    def open(self, path, fragment=""):
        """Opens a file and returns the seconds until its script has done its work and the page has been drawn."""
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        started = time.monotonic()
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + fragment)
        self.wait("document.readyState === 'complete' && document.documentElement.dataset.ready === '1'")
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        return time.monotonic() - started

    def complaints(self):
        """What the page has written to the console, thrown, or asked of a network."""
        self.run("1")
        found = []
        for e in self.events:
            what = e.get("params", {})
            if e.get("method") == "Runtime.exceptionThrown":
                found.append("exception: " + json.dumps(what["exceptionDetails"])[:500])
            elif e.get("method") == "Log.entryAdded":
                found.append("log: " + what["entry"]["text"])
            elif e.get("method") == "Runtime.consoleAPICalled":
                found.append("console: " + json.dumps(what["args"])[:500])
            elif e.get("method") == "Network.requestWillBeSent":
                url = what["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    found.append("request: " + url)
        return found

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def key(self, name, code=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                      **({"text": "\r"} if name == "Enter" and kind == "keyDown" else {}))

    def screenshot(self, path, whole=False):
        options = {"captureBeyondViewport": True} if whole else {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", **options)["data"]))

    def pdf(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.printToPDF", printBackground=False, limit=120)["data"]))
