"""A page in a headless Chromium, driven through its debugging pipe: no package, no port."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")


class Page:
    """One page; ``errors`` are what its console and its scripts complained of."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._rest, self._count, self._session = b"", 0, ""
        self.errors: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to one command of the protocol."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._count:
            self._heed(answer)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def run(self, script: str) -> Any:
        """Return what an expression of JavaScript gives; a promise is waited for."""
        found = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(self, path: Path, fragment: str = "", width: int = 1200, height: int = 900) -> None:
        """Open a file in a window of this size and wait until its first numbers are there."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **screen)
        self.ask("Page.navigate", url=path.as_uri() + fragment)
        self.run("""new Promise(done => document.readyState == 'complete' ? done()
          : addEventListener('load', done))""")
        self.settled()

    def settled(self) -> None:
        """Wait until the page has drawn everything."""
        self.run("""new Promise(ready => { const look = () => {
          const { begun, done } = document.body.dataset;
          if (begun === done) ready(); else setTimeout(look, 20); };
          setTimeout(look, 60); })""")

    def key(self, name: str, times: int = 1) -> None:
        """Press a key."""
        codes = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowUp": 38, "ArrowDown": 40, "Tab": 9}
        for _ in range(times):
            for kind in ("rawKeyDown", "keyUp"):
                self.ask(
                    "Input.dispatchKeyEvent", type=kind, key=name, code=name,
                    windowsVirtualKeyCode=codes[name],
                )  # fmt: skip

    def picture(self, path: Path) -> None:
        """Write what the page looks like, all of it, as PNG."""
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 20)
            assert more, "the browser has gone"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(text))

    def _heed(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(event["params"]["exceptionDetails"].get("exception")))
        if event.get("method") == "Log.entryAdded":
            self.errors.append(event["params"]["entry"]["text"])
        if event.get("method") == "Runtime.consoleAPICalled":
            self.errors.append(str(event["params"]["args"]))


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """Yield a page of a browser that lives so long."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    command = (
        f"exec {CHROMIUM} --headless --no-sandbox --disable-gpu --remote-debugging-pipe"
        f" --user-data-dir={profile} 3<&{theirs_in} 4>&{theirs_out}"
    )
    process = subprocess.Popen(
        ["bash", "-c", command],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Page(ours_out, ours_in)
    finally:
        process.kill()
        process.wait()
        os.close(ours_out)
        os.close(ours_in)
