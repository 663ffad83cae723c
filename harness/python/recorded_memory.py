"""Which call's result lies where in memory: what `assay record` knows of where a tensor comes from."""

from torch.multiprocessing.reductions import StorageWeakRef


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


class Made:
    """A result of a call, and how it lies in its storage, which it does not keep alive: another may come to its address."""

    def __init__(self, call, result, tensor):
        self.call, self.result = call, result
        self.storage = StorageWeakRef(storage_of(tensor))
        self.shape, self.strides, self.offset = tensor.shape, tensor.stride(), tensor.storage_offset()
        self.contiguous, self.numel = tensor.is_contiguous(), tensor.numel()

    def is_all(self, tensor):
        return tensor.shape == self.shape and tensor.stride() == self.strides and tensor.storage_offset() == self.offset

    def has(self, tensor):
        """Whether all of the tensor lies in it, at places that can be told."""
        first = tensor.storage_offset() - self.offset
        last = first + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
        return self.contiguous and tensor.numel() > 0 and 0 <= first and last < self.numel


class Memory:
    def __init__(self):
        self.made = {}  # address of a storage -> Made

    def of(self, tensor):
        made = self.made.get(storage_of(tensor).data_ptr())
        return None if made is None or made.storage.expired() else made

    def origin(self, tensor):
        """"12:out": a result of call 12; "12:out@offset(3)@strides(7,1)": a part or view of one."""
        made = self.of(tensor)
        if made is None:
            return None
        if made.is_all(tensor):
            return f"{made.call}:{made.result}"
        if not made.contiguous:
            return None
        strides = ",".join(map(str, tensor.stride()))
        return f"{made.call}:{made.result}@offset({tensor.storage_offset() - made.offset})@strides({strides})"

    def keep(self, call, result, tensor, written):
        """Remembers a result. One that was written over a part of an earlier one stays a part of that: where it lies there."""
        made = self.of(tensor) if written else None
        replaced = made is not None and (made.is_all(tensor) or tensor.numel() == made.numel and tensor.is_contiguous())
        if made is not None and not replaced and made.has(tensor):
            return self.origin(tensor)
        self.made[storage_of(tensor).data_ptr()] = Made(call, result, tensor)
        return None

    def unknown_whole(self, tensor):
        """All of the memory that a tensor is a part of, if it is no call's result yet: a cache that is written piece by piece."""
        storage = storage_of(tensor)
        n = storage.nbytes() // tensor.element_size()
        return tensor.as_strided((n,), (1,), 0) if self.of(tensor) is None and n > tensor.numel() else None

    def forget(self, tensor):
        self.made.pop(storage_of(tensor).data_ptr(), None)

    def clear(self):
        self.made.clear()
