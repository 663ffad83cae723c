#!/usr/bin/python3
"""The Python package's server process: it starts, ends, and starts again when it should.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_server_test.py [TEST ...]

Exit code 77: NumPy is not here.
"""

import importlib.util
import multiprocessing
import os
import signal
import sys
import threading
import unittest

if importlib.util.find_spec("numpy") is None:
    print("not run: NumPy is not here")
    raise SystemExit(77)

import numpy as np

import assay
from assay import _server


def judged_in_a_child(queue):
    x = np.arange(-3, 3, dtype="f4")
    queue.put((assay.judge("relu", np.maximum(x, 0), x).ok, _server._server._process.pid))


class TheServer(unittest.TestCase):
    x = np.arange(-3, 3, dtype="f4")

    def ok(self):
        return assay.judge("relu", np.maximum(self.x, 0), self.x).ok

    def test_starts_again_after_it_was_killed(self):
        self.assertTrue(self.ok())
        pid = _server._server._process.pid
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self.assertTrue(self.ok())
        self.assertNotEqual(_server._server._process.pid, pid)

    def long_work(self):
        """Seconds of work for the server, and hardly any here: so what comes from outside comes while it works."""
        return assay.bounds("softmax", np.broadcast_to(np.float32(1), (2048, 2048)), 1)

    def test_is_said_to_have_ended_while_it_worked(self):
        self.ok()
        done = threading.Event()

        def kill():
            while not done.wait(0.3):
                process = _server._server._process
                if process is not None and process.returncode is None:
                    os.kill(process.pid, signal.SIGKILL)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            with self.assertRaisesRegex(assay.ServerError, "was ended by SIGKILL.*The next call starts it again"):
                for _ in range(10):
                    self.long_work()
        finally:
            done.set()
            killer.join()
        self.assertTrue(self.ok())

    def test_each_forked_child_has_its_own(self):
        self.ok()
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=judged_in_a_child, args=(queue,))
        child.start()
        ok, pid = queue.get(timeout=60)
        child.join()
        self.assertTrue(ok)
        self.assertNotEqual(pid, _server._server._process.pid)
        self.assertTrue(self.ok())

    def test_threads_take_turns(self):
        wrong = []

        def work(seed):
            x = np.random.default_rng(seed).normal(size=50).astype("f4")
            for i in range(20):
                bad = np.maximum(x, 0)
                bad[i] += 1
                j = assay.judge("relu", bad, x)
                if j.mismatched != 1 or j.to_dict()["outputs"][0]["first"][0]["index"] != [i]:
                    wrong.append((seed, i))
        threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_ctrl_c_leaves_no_stale_answer(self):
        self.ok()
        timer = threading.Timer(0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            for _ in range(10):
                self.long_work()
        timer.join()
        self.assertTrue(self.ok())

    def test_another_version_is_said(self):
        before = os.environ.get("ASSAY_PROGRAM")
        try:
            os.environ["ASSAY_PROGRAM"] = "/bin/false"
            with self.assertRaisesRegex(assay.ServerError, "/bin/false is no Assay of this version: .* exit code 1"):
                _server.Server().ask({"do": "operators"}, [])
        finally:
            os.environ.pop("ASSAY_PROGRAM")
            if before is not None:
                os.environ["ASSAY_PROGRAM"] = before


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
