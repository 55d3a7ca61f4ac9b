"""Sums of products.

They have eight partial sums, so that the processor adds several numbers at once; the order is the same everywhere.
"""


def dot(table, i, vector, n):
    """Products of the first `n` numbers of row `i` of a table and of a vector, added up."""
    a = b = c = d = e = f = g = h = 0.0
    whole = n - n % 8
    for j in range(0, whole, 8):
        a += table[i, j] * vector[j]
        b += table[i, j + 1] * vector[j + 1]
        c += table[i, j + 2] * vector[j + 2]
        d += table[i, j + 3] * vector[j + 3]
        e += table[i, j + 4] * vector[j + 4]
        f += table[i, j + 5] * vector[j + 5]
        g += table[i, j + 6] * vector[j + 6]
        h += table[i, j + 7] * vector[j + 7]
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for j in range(whole, n):
        total += table[i, j] * vector[j]
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
