"""Four numbers added to four others at once, and rows added to histograms of four columns."""

# Features whose tables of 256 lines and four columns stay in the second-level cache.
GROUP = 32


def add_four(tables, j, c, first, second, third, fourth):
    """Add four numbers to line `c` of table `j`: all are added before one is written, so that they are one vector."""
    first += tables[j, c, 0]
    second += tables[j, c, 1]
    third += tables[j, c, 2]
    fourth += tables[j, c, 3]
    tables[j, c, 0] = first
    tables[j, c, 1] = second
    tables[j, c, 2] = third
    tables[j, c, 3] = fourth


def add_rows(codes, rows, first, last, j0, j1, tables, block):
    """Add the rows from `first` to `last` of a list to the tables of the features from `j0` to `j1`, row by row.

    Parameters
    ----------
    codes : (n, p) bins of the rows;  tables : (p, n_lines, 4)
    block : (> last - first, 4) numbers of the rows, one after the other; the last line is overwritten
    """
    # All rows are touched first, at both ends, so that the processor fetches them from memory at the same time. What is
    # not used would not be read.
    touched = 0
    for k in range(first, last):
        touched += int(codes[rows[k], j0]) + int(codes[rows[k], j1 - 1])
    block[block.shape[0] - 1, 0] = touched
    for group in range(j0, j1, GROUP):
        end = min(group + GROUP, j1)
        for k in range(first, last):
            i = rows[k]
            line = k - first
            h, g, w, z = block[line, 0], block[line, 1], block[line, 2], block[line, 3]
            j = group
            while j + 4 <= end:
                add_four(tables, j, codes[i, j], h, g, w, z)
                add_four(tables, j + 1, codes[i, j + 1], h, g, w, z)
                add_four(tables, j + 2, codes[i, j + 2], h, g, w, z)
                add_four(tables, j + 3, codes[i, j + 3], h, g, w, z)
                j += 4
            while j < end:
                add_four(tables, j, codes[i, j], h, g, w, z)
                j += 1


def are_neighbours(features, f0, f1):
    """Whether the features from `f0` to `f1` of a list follow one another."""
    for f in range(f0, f1):
        if features[f] != features[f0] + f - f0:
            return False
    return f1 > f0
