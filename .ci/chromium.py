"""Headless Chromium for the checks of pages."""

import base64
import json
import os
import shutil
import subprocess
import time

BROWSERS = ["chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "chrome"]


def browser_path():
    """Path of the browser, or None. TFBC_CHROMIUM names another one. Root on Debian gets one if there is none."""
    if "TFBC_CHROMIUM" in os.environ:
        return shutil.which(os.environ["TFBC_CHROMIUM"])
    for is_installed in [True, False]:
        if not is_installed and os.geteuid() == 0 and shutil.which("apt-get"):
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            # Without a network, apt-get would wait for each of its sources.
            subprocess.run(["timeout", "60", "apt-get", "update", "-qq"], **quiet)
            subprocess.run(["timeout", "180", "apt-get", "install", "-y", "-qq", "chromium-headless-shell"], **quiet)
        found = next(filter(None, map(shutil.which, BROWSERS)), None)
        if found:
            return found
    return None


class Browser:
    """Chromium, controlled by the DevTools protocol through a pair of pipes."""

    def __init__(self, path, folder):
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        arguments = [path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
                     f"--user-data-dir={folder}/profile", "about:blank"]
        # The protocol uses descriptors 3 and 4.
        joined = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self.process = subprocess.Popen(["bash", "-c", joined, "bash", *arguments], pass_fds=[to_read, to_write],
                                        stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.seen = 0, b"", []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.ask(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.rest:
            got = os.read(self.back, 1 << 20)
            if not got:
                raise SystemExit("Chromium ended")
            self.rest += got
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def ask(self, method, **params):
        """Sends a command and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.number:
                if "error" in got:
                    raise SystemExit(f"{method}: {got['error']}")
                return got["result"]
            self.seen.append(got)

    def run(self, script):
        """Value of an expression on the page."""
        got = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise SystemExit(f"{script}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def open(self, page, width, height, scheme):
        self.seen.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=page.as_uri())
        self.until("document.documentElement?.dataset.ready === 'yes'")

    def until(self, script):
        for _ in range(200):
            if self.run(script):
                return
            time.sleep(0.05)
        raise SystemExit(f"never true: {script}; {self.troubles()}")

    def key(self, key, text=None):
        """Presses a key."""
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text if text is not None else key if len(key) == 1 else "")
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        for letter in text:
            self.key(letter)

    def troubles(self):
        """Errors and requests since the page was opened."""
        self.run("1")
        found = []
        for event in self.seen:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"])
            elif method == "Runtime.consoleAPICalled":
                found.append(params["args"])
            elif method == "Log.entryAdded":
                found.append(params["entry"])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:", "about:", "blob:")):
                    found.append(url)
        return found

    def picture(self, path):
        time.sleep(0.2)
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait()
