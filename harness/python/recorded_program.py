"""Runs a program as Python does, until all of it has ended: its threads, and os._exit, which ends no `with`. And where in it a call stands."""

import _thread
import os
import runpy
import signal
import sys
import threading
import time
import traceback

import torch

INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Each of SIGNALS ends the program as Ctrl-C does, so that its trace is kept, unless the program itself sees to them."""

    SAME = 0.5  # seconds: timeout(1) signals a process and then its group

    def __init__(self):
        self.process, self.last, self.over = os.getpid(), 0, False
        for number in SIGNALS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, self.interrupt)

    def interrupt(self, number, _):
        if os.getpid() != self.process and number != signal.SIGINT:  # one that the program forked
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        now = time.monotonic()
        if self.over or now - self.last < self.SAME:
            return
        self.last = now
        raise KeyboardInterrupt

    def end(self):
        """From now on they are ignored: half a trace is none."""
        self.over = True
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)


def of_script(script, arguments):
    """The program, as a function."""
    def run_script():
        sys.argv = [script, *arguments]
        sys.path[0] = os.path.dirname(os.path.abspath(script))
        runpy.run_path(script, run_name="__main__")
        wait_for_threads()
    return run_script


def run(program):
    """The program's exit code."""
    try:
        program()
    except SystemExit as e:
        if e.code is not None and not isinstance(e.code, int):
            print(e.code, file=sys.stderr)
        return e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    except KeyboardInterrupt:
        traceback.print_exc()
        return INTERRUPTED
    except BaseException:  # the trace so far is worth keeping
        traceback.print_exc()
        return 1
    return 0


def wait_for_threads():
    """For those that Python itself would wait for."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def enter_in_threads(mode):
    """A mode holds for the thread that entered it: every thread that the program starts enters it, too."""
    def entering(function):
        def entered(*args, **kwargs):
            with mode:
                return function(*args, **kwargs)
        return entered

    def starting(start):
        return lambda function, *args, **kwargs: start(entering(function), *args, **kwargs)

    for module, name in ((_thread, "start_new_thread"), (_thread, "start_new"), (threading, "_start_new_thread"),
                         (threading, "_start_joinable_thread")):
        if hasattr(module, name):
            setattr(module, name, starting(getattr(module, name)))


def before_exit(finish):
    """os._exit ends the process at once: finish(code) runs before it."""
    leave = os._exit

    def finish_and_leave(status):
        finish(status)
        leave(status)

    os._exit = finish_and_leave


def pass_subclasses():
    """A tensor that a mode has seen has its Python object, and cannot become one of another class: it does so without the mode."""
    as_subclass, new = torch.Tensor.as_subclass, torch._C._TensorBase.__new__

    def without_mode(function):
        def called(*args, **kwargs):
            unseen = torch._C._DisableTorchDispatch()  # as long as it lives
            try:
                return function(*args, **kwargs)
            finally:
                del unseen
        return called

    torch.Tensor.as_subclass = without_mode(as_subclass)
    torch.Tensor.__new__ = staticmethod(without_mode(new))  # torch.Tensor(t), and T(t) of a subclass


def source_line():
    """Where the program called: the innermost frame that is neither PyTorch's nor ours."""
    torch_folder, ours = os.path.dirname(torch.__file__), os.path.dirname(os.path.abspath(__file__))
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((torch_folder, "<")) and os.path.dirname(os.path.abspath(file)) != ours and not file.endswith("/runpy.py"):
            return f"{os.path.relpath(file)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
