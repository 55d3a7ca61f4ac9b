"""Drift detectors as plain lists of values: slow and obvious."""

import math

import numpy as np


class PlainADWIN:
    """The window as a list of buckets, each a list of its values, the oldest first."""

    def __init__(self, delta=0.002, clock=32, max_buckets=5, min_window_length=5, grace_period=10):
        self.delta, self.clock, self.max_buckets = delta, clock, max_buckets
        self.least, self.grace = min_window_length, grace_period
        self.start()

    def start(self):
        self.buckets, self.n_seen, self.drift_detected = [], 0, False

    @property
    def values(self):
        return [x for bucket in self.buckets for x in bucket]

    def update(self, x):
        if self.drift_detected:
            self.start()
        self.buckets.append([x])
        self.unite()
        self.n_seen += 1
        if self.n_seen % self.clock or len(self.values) <= self.grace:
            return
        while self.is_cut():
            self.drift_detected = True
            del self.buckets[0]

    def unite(self):
        size = 1
        while sum(len(bucket) == size for bucket in self.buckets) > self.max_buckets:
            first = next(k for k, bucket in enumerate(self.buckets) if len(bucket) == size)
            self.buckets[first : first + 2] = [self.buckets[first] + self.buckets[first + 1]]
            size *= 2

    def is_cut(self):
        values = self.values
        n = len(values)
        if n < 2:
            return False
        term = math.log(2 * math.log(n) / self.delta)
        n_old = 0
        for bucket in self.buckets:
            n_old += len(bucket)
            if n_old < self.least or n - n_old < self.least:
                continue
            m = 1 / (n_old - self.least + 1) + 1 / (n - n_old - self.least + 1)
            bound = math.sqrt(2 * m * np.var(values) * term) + 2 / 3 * term * m
            if abs(np.mean(values[:n_old]) - np.mean(values[n_old:])) > bound:
                return True
        return False


def plain_page_hinkley(values, least, delta, threshold, fading, mode):
    """Numbers of the values that give an alarm."""
    alarms, seen, ups, downs = [], [], [], []
    for i, x in enumerate(values):
        seen.append(x)
        away = x - np.mean(seen)
        ups.append((fading * ups[-1] if ups else 0.0) + away - delta)
        downs.append((fading * downs[-1] if downs else 0.0) + away + delta)
        rises = ups[-1] - min(ups) > threshold
        falls = max([-1.0, *downs]) - downs[-1] > threshold
        if len(seen) >= least and ((rises and mode != "down") or (falls and mode != "up")):
            alarms.append(i)
            seen, ups, downs = [], [], []
    return alarms


def plain_ddm(values, least, warning, drift):
    """What each value gives: 0, 1 for a warning, 2 for an alarm."""
    found, seen, lowest = [], [], (math.inf, 0.0)
    for x in values:
        seen.append(x)
        mean = np.mean(seen)
        deviation = math.sqrt(mean * (1 - mean) / len(seen))
        if len(seen) <= least:
            found.append(0)
            continue
        lowest = min(lowest, (mean, deviation), key=sum)
        above = mean + deviation - lowest[0]
        found.append(2 if above > drift * lowest[1] else int(above > warning * lowest[1]))
        if found[-1] == 2:
            seen, lowest = [], (math.inf, 0.0)
    return found
