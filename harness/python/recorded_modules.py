"""Modules as they call, and what their parameters and buffers are named: what `assay record` knows of them."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parameter import UninitializedTensorMixin

from recorded_memory import Made, storage_of


def watch(enter, leave):
    """Calls enter(module, args, kwargs) and leave(result) around each module's call; of one that raises, there is none. Returns what ends that."""
    call = torch.nn.Module.__call__

    def watched(module, *args, **kwargs):
        enter(module, args, kwargs)
        result = None
        try:
            result = call(module, *args, **kwargs)
            return result
        finally:
            leave(result)

    def end():
        torch.nn.Module.__call__ = call

    torch.nn.Module.__call__ = watched
    return end


class Views:
    """Modules that make no call, as those that flatten: what they gave is a view of a result, and a dump may have it by their names."""

    MOST = 1024  # of the latest

    def __init__(self):
        self.named = {}  # address and layout -> (a module's name, the storage)

    @staticmethod
    def place(tensor):
        return storage_of(tensor).data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tensor.stride()

    def keep(self, name, tensor):
        while len(self.named) >= self.MOST:
            del self.named[next(iter(self.named))]
        self.named[self.place(tensor)] = name, StorageWeakRef(storage_of(tensor))

    def of(self, tensor):
        name, storage = self.named.get(self.place(tensor), (None, None))
        return None if name is None or storage.expired() else name

    def clear(self):
        self.named.clear()


class Parameter(Made):
    """A parameter or buffer of a module. It may be written to: then its numbers are a moment's, and another moment's elsewhere."""

    def __init__(self, name, tensor):
        super().__init__(None, name, tensor)
        self.address = storage_of(tensor).data_ptr()
        self.written = False
        self.uses = []  # calls, and the argument that it was there


class Parameters:
    """Of all modules that the program calls. A name that stands for several tensors has "#2" after it for the second."""

    def __init__(self):
        self.named = {}  # name -> [Parameter], in the order in which they were seen
        self.at = {}  # address of a storage -> [Parameter]

    def of_module(self, module, has_data):
        """{address of a storage: [Parameter]} by the names that this module gives them."""
        mine = {}
        for place, part in module.named_modules():
            for name, tensor in [*part._parameters.items(), *part._buffers.items()]:
                if tensor is None or isinstance(tensor, UninitializedTensorMixin) or not has_data(tensor) or tensor.numel() == 0:
                    continue
                p = self.parameter(f"{place}.{name}" if place else name, tensor)
                mine.setdefault(p.address, []).append(p)
        return mine

    def parameter(self, name, tensor):
        same = self.named.setdefault(name, [])
        for p in same:
            if p.address == storage_of(tensor).data_ptr() and not p.storage.expired() and p.is_all(tensor):
                return p
        p = Parameter(name if not same else f"{name}#{len(same) + 1}", tensor)
        same.append(p)
        self.at.setdefault(p.address, []).append(p)
        return p

    @staticmethod
    def find(mine, tensor, module):
        """(parameter, "") if the tensor is all of it, in whatever order; (parameter, where it lies in it) of a part; or nothing.
        Of several modules' parameters that are one tensor, that of this module."""
        for p in sorted(mine.get(storage_of(tensor).data_ptr(), ()), key=lambda p: p.result.rpartition(".")[0] != module):
            if p.storage.expired():
                continue
            if tensor.numel() == p.numel and tensor.storage_offset() == p.offset:
                return p, ""
            if p.has(tensor):
                return p, f"offset({tensor.storage_offset() - p.offset})@strides({','.join(map(str, tensor.stride()))})"
        return None

    def write(self, tensor):
        """Something writes to the tensor: the parameters that lie there. Returns the uses of them until now."""
        written = [p for p in self.at.get(storage_of(tensor).data_ptr(), ()) if not p.storage.expired() and not p.written]
        return [use for p in written for use in self.uses_of(p)]

    @staticmethod
    def uses_of(parameter):
        """Those until now, as it is a state."""
        parameter.written = True
        uses = [(call, a, parameter.result) for call, a in parameter.uses]
        parameter.uses.clear()
        return uses

    def clear(self):
        """Drops what it knows of storages, while PyTorch is there to be told. Nothing is asked any more."""
        for same in self.named.values():
            for p in same:
                p.storage = None
