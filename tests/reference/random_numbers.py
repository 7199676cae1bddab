"""Twin of the native random generator: xoshiro256++ (Blackman & Vigna 2021), its state filled by splitmix64,
in Python's own integers."""

from __future__ import annotations

MASK = (1 << 64) - 1


def _splitmix64(state: int) -> tuple[int, int]:
    """The next state, and the number drawn."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z ^ (z >> 31)


def _rotated(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & MASK


class TwinRandom:
    def __init__(self, seed: int, stream: int = 0) -> None:
        _, first = _splitmix64(seed)
        mixed = first ^ (stream * 0xD1342543DE82EF95 & MASK)
        self.state = []
        for _ in range(4):
            mixed, word = _splitmix64(mixed)
            self.state.append(word)

    def bits(self) -> int:
        s = self.state
        out = (_rotated((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        shifted = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = _rotated(s[3], 45)
        return out

    def uniform(self) -> float:
        return (self.bits() >> 11) * 2.0**-53

    def below(self, bound: int) -> int:
        """Uniform in 0..bound-1 (Lemire 2019)."""
        product = (self.bits() >> 32) * bound
        while product % (1 << 32) < (1 << 32) % bound:
            product = (self.bits() >> 32) * bound
        return product >> 32


def shuffled(count: int, seed: int, epoch: int) -> list[int]:
    """0 .. count-1 in the order of an epoch (Fisher & Yates, from the end)."""
    order = list(range(count))
    random = TwinRandom(seed, epoch)
    for i in range(count, 1, -1):
        j = random.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    return order
