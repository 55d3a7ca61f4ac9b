"""Sums of products.

They have eight partial sums, so that the processor adds several numbers at once, in an order that is the same everywhere.
"""


def dot(table, i, line, n):
    """Products of the first `n` numbers of row `i` of a table and of a line, added up."""
    a = b = c = d = e = f = g = h = 0.0
    whole = n - n % 8
    for j in range(0, whole, 8):
        a += table[i, j] * line[j]
        b += table[i, j + 1] * line[j + 1]
        c += table[i, j + 2] * line[j + 2]
        d += table[i, j + 3] * line[j + 3]
        e += table[i, j + 4] * line[j + 4]
        f += table[i, j + 5] * line[j + 5]
        g += table[i, j + 6] * line[j + 6]
        h += table[i, j + 7] * line[j + 7]
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for j in range(whole, n):
        total += table[i, j] * line[j]
    return total


def dot_rows(one, i, other, k, n):
    """`dot` of row `i` of one table and of row `k` of the other."""
    a = b = c = d = e = f = g = h = 0.0
    whole = n - n % 8
    for j in range(0, whole, 8):
        a += one[i, j] * other[k, j]
        b += one[i, j + 1] * other[k, j + 1]
        c += one[i, j + 2] * other[k, j + 2]
        d += one[i, j + 3] * other[k, j + 3]
        e += one[i, j + 4] * other[k, j + 4]
        f += one[i, j + 5] * other[k, j + 5]
        g += one[i, j + 6] * other[k, j + 6]
        h += one[i, j + 7] * other[k, j + 7]
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for j in range(whole, n):
        total += one[i, j] * other[k, j]
    return total
