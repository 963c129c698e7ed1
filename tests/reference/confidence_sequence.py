"""Plain and slow: a confidence sequence by adding up its mixture in many small steps."""

import math


def interval(numbers, bound, level=0.95, steps=20_000):
    """The interval after some numbers, from -bound to bound."""
    total = variation = 0.0
    for n, number in enumerate(numbers):
        guess = 0.0 if n == 0 else total / n
        guess = max(-bound / 10, min(bound / 10, guess))
        total += number
        variation += (number - guess) ** 2
    c = 1.1 * bound
    alpha = (1 - level) / 2
    two_log = 2 * math.log(1 / alpha)
    rho = 1000 * bound**2 / (two_log + math.log(1 + two_log))

    # the weights of λ: z = 1 - c λ has a gamma distribution with shape and rate ρ/c² below 1
    r = rho / c**2
    zs = [(i + 0.5) / steps for i in range(steps)]
    weights = [z ** (r - 1) * math.exp(-r * z) for z in zs]
    whole = sum(weights)

    def mixture(s):
        found = 0.0
        for z, weight in zip(zs, weights, strict=True):
            lam = (1 - z) / c
            psi = (-math.log(z) - c * lam) / c**2
            found += weight / whole * math.exp(lam * s - psi * variation)
        return found

    low, high = 0.0, 1.0
    while mixture(high) < 1 / alpha:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        if mixture(middle) < 1 / alpha:
            low = middle
        else:
            high = middle
    mean, half = total / len(numbers), low / len(numbers)
    return max(mean - half, -bound), min(mean + half, bound)
