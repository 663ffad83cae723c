"""Runs the program on functions of this very process: where it would start an interpreter, this process forks.

    with Forks(kernel_worker([(function, options)], name)) as forks:
        status = forks.run([program(), "verify", ...])

Nothing of the function needs a name or a file: a lambda, a method, what a notebook has defined. What the function does happens in
processes of its own; this one only waits.
"""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings
from typing import IO, Callable, List, Optional, Sequence, Tuple

from . import _worker
from ._function import KernelOptions

_LONGEST_WORDS = 1 << 20
# A process that is forked while another thread has a connection open would keep that connection open.
_one_fork_at_a_time = threading.Lock()
_PATIENCE = 5.0  # seconds that a worker has to end after the program
_PATIENCE_OF_THE_INTERRUPTED, _WORKERS_OF_THE_INTERRUPTED = 1.6, 0.1  # the program ends by itself after 1.5


class Forks:
    """`become` is called in each forked process, with the words that it is asked for and its end of a socket. Raises OSError where no
    socket can be had."""

    def __init__(self, become: Callable[[List[str], socket.socket], None]):
        self._become = become
        self.socket_name = f"assay-{os.getpid()}-{secrets.token_hex(8)}"
        self._children: List[int] = []

    def __enter__(self) -> "Forks":
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind("\0" + self.socket_name)
        self._listener.listen(16)
        return self

    def __exit__(self, *ignored) -> None:
        self._listener.close()
        limit = time.monotonic() + (_PATIENCE if not any(ignored) else _WORKERS_OF_THE_INTERRUPTED)
        for child in self._children:
            while self._lives(child):
                if time.monotonic() > limit:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    break
                time.sleep(0.005)

    @staticmethod
    def _lives(child: int) -> bool:
        try:
            return os.waitpid(child, os.WNOHANG)[0] == 0
        except ChildProcessError:
            return False

    def run(self, command: Sequence[str], out: IO, err: Optional[IO] = None, environment: Optional[dict] = None,
            folder: Optional[str] = None, meanwhile: Callable[[], None] = lambda: None) -> int:
        """The command's exit status. An interrupt is passed on, and raised again after the command has written what it has. `meanwhile` is
        called often while it runs."""
        variables = dict(os.environ, **(environment or {}), ASSAY_PYTHON_SOCKET=self.socket_name)
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=variables, cwd=folder)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._listener, selectors.EVENT_READ)
                while process.poll() is None:
                    if selector.select(timeout=0.02):
                        self._answer()
                    meanwhile()
            return process.returncode
        except BaseException:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_PATIENCE_OF_THE_INTERRUPTED)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise

    def _answer(self) -> None:
        with _one_fork_at_a_time:
            self._fork()

    def _fork(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            # The socket's name is for everybody on this machine to see.
            user = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))[1]
            if user != os.geteuid():
                return
            words = connection.recv(_LONGEST_WORDS).decode().split("\0")
            sys.stdout.flush()
            sys.stderr.flush()
            with warnings.catch_warnings():
                # Of forks beside threads: only the thread that calls the function is needed.
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                self._be_forked(connection, words)
            self._children.append(child)

    def _be_forked(self, connection: socket.socket, words: List[str]) -> None:
        try:
            self._listener.close()
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            connection.setblocking(True)
            connection.send(struct.pack("i", os.getpid()))
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            self._become(words, connection)
        finally:
            os._exit(1)


def kernel_worker(kernels: Sequence[Tuple[Callable, KernelOptions]], name: str) -> Callable[[List[str], socket.socket], None]:
    """What a process becomes that runs functions as kernels; each has an operator of its own, if they are several."""

    def become(words: List[str], connection: socket.socket) -> None:
        if words[0] == "--list":
            os.dup2(connection.fileno(), 1)
            os.dup2(connection.fileno(), 2)
            first = ["worker", "--list"]
        else:
            first = ["worker", "--zygote", str(os.dup(connection.fileno()))]
        _worker.one_thread()
        schemas = _worker.schemas_of(words)

        def chosen():
            asked = [k for k in kernels if len(kernels) == 1 or k[1].op == schemas[0].name]
            return [(f, o, schemas[0] if len(schemas) == 1 else _worker.find(schemas, o.op or "")) for f, o in asked]

        _worker.serve([*first, *words[1:]], chosen, name)

    return become
