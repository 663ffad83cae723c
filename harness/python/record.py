#!/usr/bin/python3
"""Runs a PyTorch program and records its operator calls: what `assay record` starts.

    record.py OPERATORS.json SUMMARY.json TRACE.h5 WORKING.part KEPT.h5 BYTES GLOBS CALL EXPORTED SCRIPT.py [ARGUMENT...]

With CALL, only what the CALL-th call of an outermost module does is recorded, with what it was given (recorded_outermost.py); 0: everything.
EXPORTED is a file that this module is exported to, or empty.

OPERATORS.json lists Assay's operators: [{"op", "arguments", "results", "aliases", "contract"}]. Calls are recorded as PyTorch
dispatches them: with copies of their inputs from before, their results, the module and the line they came from, and which
call's result each input is. Views are none: inputs say how they lie in the result that they are a view of. What is written in
place is recorded as it was before and as it is afterwards, and says where in an earlier result it lies, or in "whole", all of the
memory that it is a part of. Outside of modules, calls of other operators than Assay's are recorded if they compute with a recorded
result, or write to one: filling parameters with numbers does not.
"""

import atexit
import collections
import contextlib
import os
import sys
import threading

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import case_file
import recorded_copies
import recorded_layers
import recorded_memory
import recorded_modules
import recorded_names
import recorded_operators
import recorded_outermost
import recorded_program
import recorded_summary
from recorded_calls import CREATES, MAKES, RESIZES, flat, has_data, is_view, number_tensor, writes


class Local(threading.local):
    """What each thread of the program has of its own."""

    def __init__(self):
        self.modules, self.names, self.parameters = [], {}, {}
        self.begun = []  # of each module that runs, how many calls had been recorded or passed on
        self.wanted = False  # whether the outermost of these is the call that is to be recorded
        self.entered = 0  # how often the recorder is this thread's mode
        self.inside = False  # what runs now is a part of a call that is recorded as a whole


class Recorder(TorchDispatchMode):
    def __init__(self, file, copies, operators, globs, most, outermost=None):
        super().__init__()
        self.copies, self.outermost = copies, outermost
        self.calls = case_file.create_group(file, "calls")
        self.operators, self.globs, self.left = operators, globs, most
        self.local = Local()
        self.lock = threading.RLock()  # of what follows, and of the file
        self.repeats = collections.Counter()
        self.memory, self.parameters, self.views = recorded_memory.Memory(), recorded_modules.Parameters(), recorded_modules.Views()
        self.dispatched = 0  # calls that are no views
        self.recorded, self.passed, self.unknown = 0, collections.Counter(), collections.Counter()
        self.full = self.closed = False
        self.lost = None  # why the file cannot be written: nothing is recorded from then on
        self.process = os.getpid()

    # ---- modules

    def enter(self, module, args, kwargs):
        here = self.local
        if not here.modules:
            here.wanted = self.is_wanted(module, args, kwargs)
            if self.records():
                here.names = {id(m): n for n, m in module.named_modules()}
                with self.lock:
                    here.parameters = self.parameters.of_module(module, has_data)
        here.modules.append(module)
        here.begun.append(self.dispatched)

    def is_wanted(self, module, args, kwargs):
        """Whether this call of an outermost module is the one that is to be recorded."""
        if self.outermost is None or os.getpid() != self.process:
            return False
        with self.lock:
            try:
                return not self.closed and not self.lost and self.outermost.enter(module, args, kwargs)
            except OSError as e:
                if not self.lose(e):
                    raise
                return False

    def leave(self, result=None):
        here = self.local
        module = here.modules.pop()
        if here.begun.pop() == self.dispatched and isinstance(result, torch.Tensor) and self.watches() and has_data(result):
            name = here.names.get(id(module))
            if name:
                self.views.keep(name, result)
        if not here.modules and here.wanted:
            self.outermost.leave()

    def records(self):
        """Whether what runs now is to be recorded: all of it, or what one call of an outermost module does."""
        return self.outermost is None or self.outermost.inside

    def name_of_call(self, op):
        here = self.local
        place = here.names.get(id(here.modules[-1]), "") if here.modules else ""
        name = f"{place}/{op}" if place else op
        self.repeats[name] += 1
        return name if self.repeats[name] == 1 else f"{name}#{self.repeats[name]}"

    # ---- calls

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if os.getpid() != self.process or self.closed or self.lost or self.local.inside or not self.records():
            return func(*args, **kwargs)
        if torch._C._get_tracing_state() is not None:  # of torch.jit.trace, which would trace what is done here
            self.passed["while torch.jit.trace ran"] += 1
            return func(*args, **kwargs)
        packet, overload = func._schema.name.split("::")[1], func._schema.overload_name
        name = f"{packet}.{overload}" if overload else packet
        arguments = {a.name: v for a, v in zip(func._schema.arguments, args)} | kwargs
        for a in func._schema.arguments:
            if a.name not in arguments and a.has_default_value():
                arguments[a.name] = a.default_value
        if torch.is_inference_mode_enabled() and self.operators.find(name, arguments) is None and not is_view(func, name):
            with self:  # elsewhere it arrives here as the calls that it is made of
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        return self.watched(func, name, arguments, lambda: func(*args, **kwargs))

    def __enter__(self):
        self.local.entered += 1
        return super().__enter__()

    def __exit__(self, *error):
        self.local.entered -= 1
        return super().__exit__(*error)

    def watches(self):
        """Whether what this thread computes now is recorded."""
        return (self.local.entered > 0 and not self.local.inside and os.getpid() == self.process and not self.closed and not self.lost
                and self.records() and torch._C._get_tracing_state() is None)

    def as_one(self, func, name, arguments, call):
        """Records what `call` computes as one call of this operator, and not the calls that it is made of."""
        self.local.inside = True
        try:
            return self.watched(func, name, arguments, call)
        finally:
            self.local.inside = False

    def watched(self, func, name, arguments, call):
        """What `call` gives, recorded as a call of this operator."""
        tensors = list(flat(arguments.values()))
        wide = any(t.dtype == torch.float64 for t in tensors)
        floating = any(t.is_floating_point() for t in tensors)
        for a in func._schema.arguments:
            if isinstance(a.type, torch.TensorType) and isinstance(arguments.get(a.name), (int, float)):
                arguments[a.name] = number_tensor(arguments[a.name], wide, floating)
        # What stands in a result before it is written, where a call is told to write it, it does not compute with.
        taken = {n: v for n, v in arguments.items() if not any(a.name == n and a.kwarg_only and writes(a) for a in func._schema.arguments)}
        copies = {n: self.copied(v) for n, v in taken.items()}
        given = {n: v for n, v in taken.items() if isinstance(v, torch.Tensor)}
        given |= {f"{n}.{i}": t for n, v in taken.items() if isinstance(v, (tuple, list)) for i, t in enumerate(v) if isinstance(t, torch.Tensor)}
        given = {n: t for n, t in given.items() if has_data(t)}
        origins = {n: self.memory.origin(t) for n, t in given.items()}
        throughs = {n: self.memory.through(t) for n, t in given.items()}
        sources = frozenset().union(*(self.memory.sources(t) for t in given.values()))
        result = call()
        if not is_view(func, name) and not self.lies_in(given, result, func, arguments):
            with self.lock:
                self.dispatched += 1
                if not self.closed and not self.lost:
                    self.write_parameters(func, name, arguments)
                    if not self.recorded_or_passed(func, name, copies, origins, throughs, arguments, result):
                        self.pass_on(func, name, sources, arguments, result)
        return result

    def lies_in(self, given, result, func, arguments):
        """Whether it is a view that its schema does not call one, as the parts of unsafe_split are."""
        results = list(flat([result]))
        if not results or self.written(func, arguments) or not all(has_data(r) and r.numel() > 0 for r in results):
            return False
        storages = {recorded_memory.storage_of(t).data_ptr() for t in given.values() if t.numel() > 0}
        return all(recorded_memory.storage_of(r).data_ptr() in storages for r in results)

    def recorded_or_passed(self, func, name, *rest):
        """What cannot be recorded is no reason for the program to end."""
        try:
            return self.record(func, name, *rest)
        except Exception as e:
            if not self.lost:
                self.passed[f"{name} ({type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''})"] += 1
            return False

    def lose(self, error):
        """Whether it says that the file cannot be written. Its traceback keeps what HDF5 would try to write again."""
        if case_file.cannot_write(error):
            self.lost = self.lost or error
        return self.lost is not None

    def written(self, func, arguments):
        """The tensors that a call writes to."""
        return [t for a in func._schema.arguments if writes(a) for t in flat([arguments.get(a.name)]) if has_data(t)]

    def pass_on(self, func, name, sources, arguments, result):
        """What a call that is not recorded gave or wrote to is made from what it was given."""
        if name.startswith(CREATES + RESIZES):
            sources = ()
        for t in [*self.written(func, arguments), *flat([result])]:
            if has_data(t):
                self.memory.pass_on(name, sources, t)

    def write_parameters(self, func, name, arguments):
        """A parameter that is written to is a state: nobody knows of which moment the one of a dump is."""
        written = self.written(func, arguments)
        if self.operators.updates_statistics(name, arguments):
            written += [arguments["running_mean"], arguments["running_var"]]
        try:
            for t in written:
                self.state_of(self.parameters.write(t))
        except Exception as e:
            if not self.lose(e):
                raise

    def state_of(self, uses):
        for place, a, parameter in uses:
            group = self.calls[place]
            for note in ("parameter.", "part.", "alias."):
                if note + a in group.attrs:
                    del group.attrs[note + a]
            case_file.set_text(group, f"state.{a}", parameter)

    def close(self):
        """What is still running goes on, unrecorded."""
        with self.lock:
            self.closed = True

    @staticmethod
    def copied(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone() if has_data(value) else value
        if isinstance(value, (list, tuple)):
            return [Recorder.copied(v) for v in value]
        return value

    def record(self, func, name, arguments, origins, throughs, originals, result):
        """Whether it was recorded."""
        results = result if isinstance(result, (tuple, list)) else (result,)
        found = self.operators.find(name, arguments)
        if found is not None and found[0]["op"] == recorded_operators.FUNCTIONAL != name:
            results = (*results, originals["running_mean"], originals["running_var"])  # as they are now
        if found is not None and len(found[0]["results"]) != len(results):
            found = None
        if found is None and not self.computes(name, arguments, origins):
            return False
        if not results or not all(isinstance(r, torch.Tensor) and r.dtype in case_file.NAMES and r.layout == torch.strided for r in results):
            return False
        names = recorded_names.spellings(func._schema.name.split("::")[0], name)
        if found is not None:
            names |= recorded_names.spellings("aten", found[0]["op"])
        if not recorded_names.fnmatch_any(names, self.globs):
            self.passed["not of --ops"] += 1
            return False
        tensors = [*flat(arguments.values()), *results]
        if not all(has_data(t) for t in tensors):
            self.passed["tensors without numbers of their own, such as those on the device meta"] += 1
            return False
        if any(t.dtype not in case_file.NAMES for t in tensors):
            self.passed["tensors of a dtype that Assay does not have"] += 1
            return False
        size = sum(t.numel() * t.element_size() for t in tensors)
        wholes = self.unknown_wholes(results, originals)
        more = sum(w.numel() * w.element_size() for w in wholes)
        wholes, size = (wholes, size + more) if size + more <= self.left else ([], size)
        if self.full or size > self.left:
            self.full = True
            self.passed["after the limit (--limit)"] += 1
            return False
        self.left -= size
        if found is None:
            op, taken, contract = name, arguments, ""
            if not recorded_layers.is_layer(name):
                self.unknown[name] += 1
        else:
            op, taken, contract = found[0]["op"], found[1], found[0]["contract"]
        place = str(self.recorded)
        try:
            self.write(place, func, name, found, taken, op, contract, arguments, origins, throughs, originals, results, wholes)
        except BaseException as e:  # an interrupt, too
            if not self.lose(e) and place in self.calls:
                del self.calls[place]
            raise
        self.recorded += 1
        self.copies.copy()
        return True

    def unknown_wholes(self, results, originals):
        """The memory that results were written into, where that is no call's result yet."""
        wholes = {}
        for r in results:
            if any(r is o for o in originals.values()):
                whole = self.memory.unknown_whole(r)
                if whole is not None:
                    wholes[whole.data_ptr()] = whole
        return list(wholes.values())

    def computes(self, name, arguments, origins):
        """Whether a call of an operator that Assay does not have is one of the model's."""
        if self.local.modules:
            return any(True for _ in flat(arguments.values())) and not name.startswith(MAKES)
        return not name.startswith(CREATES + RESIZES) and any(origins.values())

    def write(self, place, func, name, found, taken, op, contract, arguments, origins, throughs, originals, results, wholes):
        group = case_file.create_group(self.calls, place)
        words = ",".join(f"{a}={case_file.value_text(v, found is not None)}" for a, v in taken.items())
        case_file.set_text(group, "op", op)
        case_file.set_text(group, "case", f"{op}:{words}")
        group.attrs.create("seed", 0, dtype="uint64")
        case_file.set_text(group, "impl", "torch")
        case_file.set_text(group, "contract", case_file.of_dtype(contract, case_file.NAMES[results[0].dtype]))
        case_file.set_text(group, "name", self.name_of_call(op))
        case_file.set_text(group, "called", name)
        case_file.set_text(group, "source", recorded_program.source_line())
        renamed = {} if found is None else {id(v): a for a, v in taken.items()}
        for key, notes in (("from", origins), ("through", throughs)):
            for a, note in notes.items():
                if note:
                    case_file.set_text(group, f"{key}.{renamed.get(id(arguments[a]), a) if a in arguments else a}", note)
        for a, v in arguments.items():
            original = originals[a]
            if any(original is r for r in results):  # what it writes is no parameter, but a state
                continue
            if isinstance(original, torch.Tensor) and has_data(original):
                self.write_parameter(group, place, renamed.get(id(v), a), original, origins.get(a) or throughs.get(a))
                through_module = self.views.of(original)
                if through_module:
                    case_file.set_text(group, f"module.{renamed.get(id(v), a)}", through_module)
            elif isinstance(original, (list, tuple)):
                for i, t in enumerate(original):
                    if isinstance(t, torch.Tensor) and has_data(t) and not any(t is r for r in results):
                        entry = f"{a}.{i}"
                        self.write_parameter(group, place, entry, t, origins.get(entry) or throughs.get(entry))
        inputs = case_file.create_group(group, "inputs")
        for a, v in taken.items():
            if isinstance(v, torch.Tensor):
                case_file.write_tensor(inputs, a, v)
            elif isinstance(v, (list, tuple)) and v and all(isinstance(t, torch.Tensor) for t in v):
                entries = case_file.create_group(inputs, a)
                for i, t in enumerate(v):
                    case_file.write_tensor(entries, str(i), t)
        actual = case_file.create_group(group, "actual")
        for i, whole in enumerate(wholes):
            of_memory = f"whole{i}" if i else "whole"
            case_file.write_tensor(actual, of_memory, whole)
            self.memory.keep(place, of_memory, whole, False)
        names = [r.name for r in func._schema.returns] if found is None else found[0]["results"]
        for i, r in enumerate(results):
            out = i < len(names) and names[i] or ("out" if len(results) == 1 else f"out{i}")
            case_file.write_tensor(actual, out, r)
            written = self.memory.keep(place, out, r, any(r is o for o in originals.values()))
            if written:
                key, where = written
                case_file.set_text(group, f"{key}.{out}", where)

    def write_parameter(self, group, place, argument, tensor, came_from):
        here = self.local
        module = here.names.get(id(here.modules[-1]), "") if here.modules else ""
        found = self.parameters.find(here.parameters, tensor, module)
        if found is None:
            return
        parameter, part = found
        if came_from:  # before a module was called that has it
            self.state_of(self.parameters.uses_of(parameter))
        if parameter.written:
            case_file.set_text(group, f"state.{argument}", parameter.result)
            return
        case_file.set_text(group, f"parameter.{argument}", parameter.result)
        other_names = [p.result for p in here.parameters[parameter.address] if p is not parameter and p.is_all(tensor)]
        if other_names:
            case_file.set_text(group, f"alias.{argument}", ",".join(other_names))
        if part:
            case_file.set_text(group, f"part.{argument}", part)
        parameter.uses.append((place, argument))


def leave(recorder, code):
    """Before HDF5 tries once more to write what it could not, and fails in its destructors."""
    if recorder.lost:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the program may have closed it
                stream.flush()
        os._exit(code)


def main(words, program=None):
    """`program` is what is recorded in place of the script: a function of a process that was forked for it."""
    operators, summary, trace, partial, kept, most, globs, call, exported, script, *arguments = words
    # The program may change its folder.
    trace, summary, partial, kept = (os.path.abspath(path) for path in (trace, summary, partial, kept))
    exported = exported and os.path.abspath(exported)
    process = os.getpid()
    try:
        file = case_file.create_file(partial)
        case_file.set_text(file, "format", "assay.case/1")
        case_file.set_text(file, "creator", "assay record")
        case_file.write_libraries(file)
    except OSError as e:
        with contextlib.suppress(OSError):
            os.remove(partial)
        recorded_summary.write_summary(summary, None, 1, e)
        os._exit(1)
    copies = recorded_copies.Kept(file, partial, kept)
    outermost = recorded_outermost.Outermost(file, int(call), bool(exported)) if int(call) else None
    recorder = Recorder(file, copies, recorded_operators.Operators(operators), [g for g in globs.split(",") if g], int(most), outermost)
    atexit.register(lambda: leave(recorder, code))
    code, not_exported = 1, ""
    interrupts = recorded_program.Interrupts()
    ends = [recorded_modules.watch(recorder.enter, recorder.leave), recorded_layers.watch(recorder)]

    def finish(code):
        if os.getpid() != process or recorder.closed:  # of a program that forks, the trace is its first process's
            return
        interrupts.end()
        recorder.close()
        recorder.memory.clear()  # while all of PyTorch is there, which their destructors call
        recorder.parameters.clear()
        recorder.views.clear()
        if not recorder.lost:
            try:
                if outermost is not None:
                    outermost.close()
                file.close()
                os.replace(partial, trace)
                copies.remove()
            except (OSError, RuntimeError) as e:
                recorder.lost = e
        if recorder.lost:
            with contextlib.suppress(OSError):
                os.remove(partial)  # so that there is room for the summary
            copies.remove()
        recorded_summary.write_summary(summary, recorder, code, recorder.lost, not_exported)

    recorded_program.pass_subclasses()
    recorded_program.enter_in_threads(recorder)
    recorded_program.before_exit(finish)
    with recorder:
        code = recorded_program.run(program or recorded_program.of_script(script, arguments))
    if os.getpid() != process:
        sys.stdout.flush()
        os._exit(code)
    for end in ends:
        end()
    if exported and code == 0:
        try:
            not_exported = outermost.export(exported)
        except KeyboardInterrupt:
            code = recorded_program.INTERRUPTED
    interrupts.end()
    finish(code)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
