"""The process that judges: `assay serve`, one for each process of Python.

    answer, memory = ask({"do": "operators"}, [])

It is started by the first question and ends with this process. Judge, bounds and diagnosis are not in this process, so that nothing which
a kernel overwrites touches them, and one executable serves every version of Python. docs/internals/serve.md has the protocol.
"""

from __future__ import annotations

import atexit
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import threading
from typing import Any, Optional, Sequence

from ._errors import OF_KIND, ServerError
from ._program import program

FORMAT = "assay.serve/1"
ALIGNED = 64  # of tensors in the memory of a request
_MOST_AT_ONCE = 1 << 30  # bytes of one write


def _write(file: int, part: memoryview, offset: int) -> None:
    while part.nbytes > 0:
        done = os.pwrite(file, part[:_MOST_AT_ONCE], offset)
        part, offset = part[done:], offset + done


class Server:
    """One server process. It is thread-safe: threads take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Optional[subprocess.Popen] = None
        self._said: Optional[int] = None  # the file in memory that its standard error goes to
        self._socket: Optional[socket.socket] = None

    def ask(self, request: dict[str, Any], tensors: Sequence[tuple[int, memoryview]]) -> tuple[dict[str, Any], Optional[mmap.mmap]]:
        """The answer, and the memory that came with it.

        `tensors` are bytes and where they lie in the memory of the request. Raises what _errors.py has.
        """
        text = json.dumps(request, allow_nan=False).encode()
        with self._lock:
            try:
                self._start()
                self._send(text, tensors)
                answer, memory = self._receive()
            except (BrokenPipeError, ConnectionError, EOFError):
                raise ServerError(self._ended()) from None
            except BaseException:  # KeyboardInterrupt, too: an answer that nobody reads would be taken for the next one
                self._stop()
                raise
        if "error" in answer:
            raise OF_KIND.get(answer["kind"], ServerError)(answer["error"])
        return answer, memory

    def close(self) -> None:
        """Ends the process. The next question starts another one."""
        with self._lock:
            self._stop()

    def forget(self) -> None:
        """Of a child after fork(): the server is its parent's."""
        if self._socket is not None:
            self._socket.close()
        if self._said is not None:
            os.close(self._said)
        if self._process is not None:
            self._process.returncode = 0  # nobody waits for it here
        self.__init__()

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._stop()
        path = program()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._said = os.memfd_create("assay serve", os.MFD_CLOEXEC)
            try:
                # In a session of its own: Ctrl-C in a terminal is for this process, which then ends it.
                self._process = subprocess.Popen([path, "serve", "--socket", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said,
                                                 start_new_session=True)
            except OSError as e:
                ours.close()
                raise ServerError(f"{path} cannot be started: {e}") from None
        self._socket = ours
        try:
            hello = self._receive()[0]
        except (ConnectionError, EOFError):
            raise ServerError(f"{path} is no Assay of this version: {self._ended()}") from None
        if hello.get("format") != FORMAT:
            self._stop()
            raise ServerError(f"{path} speaks {hello.get('format')}, and this package {FORMAT}: they are of different versions")

    def _send(self, text: bytes, tensors: Sequence[tuple[int, memoryview]]) -> None:
        assert self._socket is not None
        message = struct.pack("<Q", len(text)) + text
        if not tensors:
            self._socket.sendall(message)
            return
        file = os.memfd_create("assay request", os.MFD_CLOEXEC)
        try:
            for offset, part in tensors:
                _write(file, part, offset)
            sent = socket.send_fds(self._socket, [message], [file])
        finally:
            os.close(file)
        self._socket.sendall(message[sent:])

    def _receive(self) -> tuple[dict[str, Any], Optional[mmap.mmap]]:
        assert self._socket is not None
        header, files, _, _ = socket.recv_fds(self._socket, 8, 1, socket.MSG_CMSG_CLOEXEC)
        memory = None
        for file in files:
            try:
                # Private to this process, and writable: arrays of it are like any others.
                memory = mmap.mmap(file, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
            finally:
                os.close(file)
        header += self._exactly(8 - len(header))
        return json.loads(self._exactly(struct.unpack("<Q", header)[0])), memory

    def _exactly(self, size: int) -> bytes:
        assert self._socket is not None
        all_ = bytearray(size)
        view = memoryview(all_)
        while view.nbytes > 0:
            n = self._socket.recv_into(view)
            if n == 0:
                raise EOFError
            view = view[n:]
        return bytes(all_)

    def _ended(self) -> str:
        """How the process ended, which has closed its socket."""
        process = self._process
        assert process is not None
        if self._socket is not None:
            self._socket.close()
        try:
            code = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        said = "" if self._said is None else os.pread(self._said, 2000, 0).decode(errors="replace").strip()
        self._stop()
        how = "did not answer"
        if code is not None:
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"`assay serve` {how}{': ' + said if said else ''}. The next call starts it again"

    def _stop(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._said is not None:
            os.close(self._said)
        process, self._socket, self._process, self._said = self._process, None, None, None
        if process is None:
            return
        if process.poll() is None:
            process.kill()  # it has nothing to write
            process.wait()


_server = Server()
ask = _server.ask
close = _server.close
os.register_at_fork(after_in_child=_server.forget)
atexit.register(_server.close)
