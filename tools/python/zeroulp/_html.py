"""How notebooks show matrices, comparisons and explanations: small SVGs."""

from html import escape

import numpy as np


def _bars(heights, labels, title):
    """A bar for each height; its label shows under the mouse."""
    if not len(heights):
        return ""
    most = max(heights) or 1
    width = max(2, min(12, 480 // len(heights)))
    bars = "".join(
        f'<rect x="{i * width}" y="{60 - 60 * h / most:.1f}" width="{width - 1}" '
        f'height="{60 * h / most:.1f}" fill="#36c"><title>{escape(label)}: {h}'
        "</title></rect>" for i, (h, label) in enumerate(zip(heights, labels)))
    return (f'<figure style="margin:0"><svg width="{width * len(heights)}" '
            f'height="60" role="img" aria-label="{escape(title)}">{bars}</svg>'
            f"<figcaption><small>{escape(title)}</small></figcaption></figure>")


def heat_map(where, title, cells=64):
    """The share of true elements in each of at most cells x cells parts."""
    rows, cols = where.shape
    if not where.size:
        return ""
    high, wide = -(-rows // cells), -(-cols // cells)
    parts = []
    for i in range(0, rows, high):
        for j in range(0, cols, wide):
            share = where[i:i + high, j:j + wide].mean()
            if share == 0:
                continue
            parts.append(
                f'<rect x="{4 * (j // wide)}" y="{4 * (i // high)}" width="4" '
                f'height="4" fill="#c22" fill-opacity="{0.2 + 0.8 * share:.2f}">'
                f"<title>rows {i} to {min(i + high, rows) - 1}, columns {j} to "
                f"{min(j + wide, cols) - 1}: {share:.3g}</title></rect>")
    size = 4 * -(-cols // wide), 4 * -(-rows // high)
    return (f'<figure style="margin:0"><svg width="{size[0]}" height="{size[1]}" '
            f'role="img" aria-label="{escape(title)}" '
            f'style="background:#eee">{"".join(parts)}</svg>'
            f"<figcaption><small>{escape(title)}</small></figcaption></figure>")


def quantized(q):
    """Shape, shares of zeros and of the largest number, exponents of scales."""
    words = q.bits().words
    magnitudes = words & ((1 << (q.format.bits - 1)) - 1)
    zeros = float(np.mean(magnitudes == 0)) if words.size else 0.0
    exponents = (q.scale_bits().words >> 23 & 0xff).ravel().astype(int) - 127
    low, high = (exponents.min(), exponents.max()) if exponents.size else (0, -1)
    counts = np.bincount(exponents - low, minlength=high - low + 1) \
        if exponents.size else []
    return (f"<b>{escape(repr(q))}</b><br>{100 * q.saturated:.3g} % saturated, "
            f"{100 * zeros:.3g} % zero" +
            _bars(list(map(int, counts)), [f"2^{e}" for e in range(low, high + 1)],
                  f"scales by exponent, 2^{low} to 2^{high}"))


def comparison(c):
    """The text, where bits differ, and how far."""
    text = f"<pre>{escape(str(c))}</pre>"
    if c:
        return text
    far = {k: v for k, v in c.ulps.items() if v and k != "0"}
    return text + heat_map(c.where, "where bits differ") + _bars(
        list(far.values()), [f"{k} ulps" for k in far], "elements by distance")
