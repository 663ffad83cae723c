"""Which of the planted faults a run has time for, and in which order."""

import collections


def in_turn(faults, of_file, rotation, changed=()):
    """All faults of files that have changed, and `of_file` of each other file, which are others for another `rotation`.

    The faults of changed files come first, then the first one of each file, the second one of each file, and so on: a run
    that ends early has looked at as many files as possible, and where it begins moves with the rotation, too."""
    by_file = collections.defaultdict(list)
    for f in faults:
        by_file[f["file"]].append(f)
    first = [f for f in faults if f["file"] in changed]
    others = [file for file in by_file if file not in changed]
    if others:
        start = rotation * 7919 % len(others)  # a prime: each file is the first one in turn
        others = others[start:] + others[:start]
    rounds = []
    for k in range(of_file):
        for file in others:
            of_this = by_file[file]
            if k < len(of_this):
                rounds.append(of_this[(rotation * of_file + k) % len(of_this)])
    return first + rounds


def self_test():
    def of(file, n):
        return [{"name": f"{file}.{i}", "file": file} for i in range(n)]

    faults = of("a", 5) + of("b", 1) + of("c", 2) + of("d", 3)
    names = lambda chosen: [f["name"] for f in chosen]
    for rotation in range(12):
        chosen = names(in_turn(faults, 2, rotation))
        assert len(set(chosen)) == len(chosen) == 2 + 1 + 2 + 2, chosen
        assert {n[0] for n in chosen[:4]} == set("abcd"), f"one of each file comes first: {chosen}"
        assert names(in_turn(faults, 2, rotation)) == chosen
        chosen = names(in_turn(faults, 1, rotation, {"d"}))
        assert chosen[:3] == ["d.0", "d.1", "d.2"] and len(chosen) == 6, chosen
    # Each fault has its turn, also where only the first two of a run are planted.
    turns = range(20)
    assert {n for r in turns for n in names(in_turn(faults, 2, r))} == set(names(faults))
    assert {n[0] for r in turns for n in names(in_turn(faults, 2, r))[:2]} == set("abcd")
    assert names(in_turn(faults, 9, 0)) != names(faults) and len(in_turn(faults, 9, 0)) == len(faults)
    assert in_turn([], 2, 3) == []
