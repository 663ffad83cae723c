"""Which call's result lies where in memory: what `assay record` knows of where a tensor comes from."""

from torch.multiprocessing.reductions import StorageWeakRef


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def is_dense(tensor):
    """Whether its elements fill a stretch of memory, in whatever order of dimensions."""
    expected = 1
    for stride, size in sorted((s, n) for s, n in zip(tensor.stride(), tensor.shape) if n > 1):
        if stride != expected:
            return False
        expected *= size
    return True


class Made:
    """A result of a call, and how it lies in its storage, which it does not keep alive: another may come to its address.

    Of a call that is not recorded: its name, and the recorded results that it was made from."""

    def __init__(self, call, result, tensor, sources=()):
        self.call, self.result = call, result
        self.sources = frozenset(sources)
        self.storage = StorageWeakRef(storage_of(tensor))
        self.shape, self.strides, self.offset = tensor.shape, tensor.stride(), tensor.storage_offset()
        self.contiguous, self.numel = tensor.is_contiguous(), tensor.numel()
        self.dense = self.contiguous or is_dense(tensor)

    def is_all(self, tensor):
        return tensor.shape == self.shape and tensor.stride() == self.strides and tensor.storage_offset() == self.offset

    def part(self, tensor):
        """(offset, strides) of a view in the numbers of this result in row-major order, which its memory may have in another; or nothing."""
        first = tensor.storage_offset() - self.offset
        if self.contiguous:
            return first, tensor.stride()
        if not self.dense or first < 0 or tensor.numel() == 0:
            return None
        order = sorted((d for d in range(len(self.shape)) if self.shape[d] > 1), key=lambda d: -self.strides[d])
        row_major = [1] * len(self.shape)
        for d in reversed(range(len(self.shape) - 1)):
            row_major[d] = row_major[d + 1] * self.shape[d + 1]

        def steps(distance):
            """How many indices it is in each dimension."""
            each = {}
            for d in order:
                each[d], distance = divmod(distance, self.strides[d])
            return each

        at = steps(first)
        strides = [steps(s) if n > 1 else {} for n, s in zip(tensor.shape, tensor.stride())]
        if any(s < 0 for s in tensor.stride()):
            return None
        for d in order:  # no index may go over into the next dimension, or strides are none
            if at[d] + sum((n - 1) * s.get(d, 0) for n, s in zip(tensor.shape, strides)) >= self.shape[d]:
                return None
        return sum(at[d] * row_major[d] for d in order), [sum(s.get(d, 0) * row_major[d] for d in order) for s in strides]

    def has(self, tensor):
        """Whether all of the tensor lies in it, at places that can be told."""
        first = tensor.storage_offset() - self.offset
        last = first + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
        return self.dense and tensor.numel() > 0 and 0 <= first and last < self.numel


class Memory:
    MOST_SOURCES = 64  # of a tensor that many results went into, the latest

    def __init__(self):
        self.made = {}  # address of a storage -> Made

    def of(self, tensor):
        made = self.made.get(storage_of(tensor).data_ptr())
        return None if made is None or made.storage.expired() else made

    def origin(self, tensor):
        """"12:out": a result of call 12; "12:out@offset(3)@strides(7,1)": a part or view of one."""
        made = self.of(tensor)
        if made is None or made.sources:
            return None
        if made.is_all(tensor):
            return f"{made.call}:{made.result}"
        part = made.part(tensor)
        if part is None:
            return None
        return f"{made.call}:{made.result}@offset({part[0]})@strides({','.join(map(str, part[1]))})"

    def through(self, tensor):
        """"sin(3:out,5:out)": made by a call of sin that was not recorded, from what these recorded calls gave."""
        made = self.of(tensor)
        if made is None:
            return None
        if not made.sources:  # a view that no strides describe
            return None if self.origin(tensor) else f"a view({made.call}:{made.result})"
        return f"{made.call}({','.join(f'{call}:{result}' for call, result in sorted(made.sources))})"

    def sources(self, tensor):
        """The recorded results that a tensor is, or was made from."""
        made = self.of(tensor)
        return frozenset() if made is None else made.sources or {(int(made.call), made.result)}

    def pass_on(self, name, sources, tensor):
        """A call that is not recorded has written this, from those."""
        if sources:
            self.made[storage_of(tensor).data_ptr()] = Made(name, None, tensor, sorted(sources)[-self.MOST_SOURCES:])
        else:
            self.forget(tensor)

    def keep(self, call, result, tensor, written):
        """Remembers a result. Returns ("onto", where it lies) of one that was written over a part of an earlier one, which it is a part
        of from now on, and ("over", which) of one that was written over all of it."""
        made = self.of(tensor) if written else None
        replaced = made is not None and (made.is_all(tensor) or tensor.numel() == made.numel and tensor.is_contiguous())
        if made is not None and not replaced and made.sources:
            made.sources |= {(int(call), result)}
            return None
        if made is not None and not replaced and made.has(tensor):
            where = self.origin(tensor)
            if where is None:  # a part that no strides describe: what is there now is known of neither
                self.made[storage_of(tensor).data_ptr()] = Made("a view", None, tensor, {(int(made.call), made.result), (int(call), result)})
                return None
            return "onto", where
        self.made[storage_of(tensor).data_ptr()] = Made(call, result, tensor)
        return ("over", f"{made.call}:{made.result}") if replaced and not made.sources else None

    def unknown_whole(self, tensor):
        """All of the memory that a tensor is a part of, if it is no call's result yet: a cache that is written piece by piece."""
        storage = storage_of(tensor)
        n = storage.nbytes() // tensor.element_size()
        return tensor.as_strided((n,), (1,), 0) if self.of(tensor) is None and n > tensor.numel() else None

    def forget(self, tensor):
        self.made.pop(storage_of(tensor).data_ptr(), None)

    def clear(self):
        self.made.clear()
