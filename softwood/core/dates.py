"""Dates, durations and times of day as numbers.

A column of dates becomes the number of days since the first date of the training rows, and the parts of a date that
vary in them: hour, weekday, month. Durations become days, times of day hours.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from softwood.core.tables import column_cells, is_missing_value

# Parts of a date; the first one is always there. Weekdays are numbered from Monday (0) to Sunday (6).
DATE_PARTS = ("days", "hour", "weekday", "month")
# Dates as text, in the order year, month, day, so that there is no doubt.
DATE_TEXT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?")
_DAY, _HOUR = np.timedelta64(1, "D"), np.timedelta64(1, "h")
_UNITS = {"duration": ("days", _DAY), "time": ("hours", _HOUR)}


@dataclass(frozen=True)
class Dates:
    """How a column of dates, durations or times of day becomes columns of numbers.

    Attributes
    ----------
    kind : "date", "duration" or "time"
    origin : day from which days are counted, such as "2020-01-31"; empty for durations and times
    zone : name of the time zone whose clock gives days and hours; empty for dates without a time zone
    parts : the columns, some of `DATE_PARTS` in this order; "days" for durations and "hours" for times
    """

    kind: str
    origin: str = ""
    zone: str = ""
    parts: tuple[str, ...] = ("days",)

    def __post_init__(self) -> None:
        if self.kind == "date":
            order = [DATE_PARTS.index(part) if part in DATE_PARTS else -1 for part in self.parts]
            is_right = bool(order) and order[0] == 0 and order == sorted(set(order)) and self.origin != ""
            np.datetime64(self.origin, "D")  # an error unless it is a day
        else:
            is_right = self.kind in _UNITS and self.parts == (_UNITS[self.kind][0],) and not (self.origin or self.zone)
        if not is_right:
            raise ValueError(f"{self.kind!r} with the parts {self.parts!r} is no encoding of dates.")

    @classmethod
    def learn(cls, times: np.ndarray, kind: str, zone: str, wanted: str) -> Dates:
        """The encoding of a column of training rows.

        Parameters
        ----------
        times, kind, zone : as `read_times` takes and returns them
        wanted : "days", "parts" (days, and what varies), or "all"
        """
        if kind != "date":
            return cls(kind, parts=(_UNITS[kind][0],))
        known = times[~np.isnat(times)]
        origin = str(known.min().astype("M8[D]")) if len(known) else "1970-01-01"
        if wanted == "parts":
            varying = [part for part in DATE_PARTS[1:] if len(set(_part(known, part).tolist())) > 1]
            return cls(kind, origin, zone, ("days", *varying))
        return cls(kind, origin, zone, DATE_PARTS if wanted == "all" else ("days",))

    def titles(self, name: str) -> list[str]:
        """Names of the columns of numbers of a column with this name."""
        if self.kind != "date":
            return [f"{name}: {self.parts[0]}"]
        return [f"{name}: days since {self.origin}", *(f"{name}: {part}" for part in self.parts[1:])]

    def encode(self, times: np.ndarray) -> np.ndarray:
        """The columns of numbers, (n_rows, n_parts), nan where missing; `times` as `read_times` returns them."""
        if self.kind != "date":
            return (times / _UNITS[self.kind][1])[:, None]
        is_known = ~np.isnat(times)
        out = np.full((len(times), len(self.parts)), np.nan)
        out[is_known, 0] = (times[is_known] - np.datetime64(self.origin, "us")) / _DAY
        for k, part in enumerate(self.parts[1:], start=1):
            out[is_known, k] = _part(times[is_known], part)
        return out


def _part(times: np.ndarray, part: str) -> np.ndarray:
    """A part of each date as a whole number; none may be missing."""
    days = times.astype("M8[D]")
    if part == "hour":
        return (times - days) // _HOUR
    if part == "weekday":
        return (days.astype(np.int64) + 3) % 7  # day 0 was a Thursday
    return times.astype("M8[M]").astype(np.int64) % 12 + 1


# Which columns hold dates


def kind_of_cell(value: Any) -> str | None:
    """What a cell holds: "date", "duration" or "time"; None for anything else, and for missing values."""
    if isinstance(value, datetime.time):
        return "time"
    if isinstance(value, datetime.timedelta | np.timedelta64):
        kind = "duration"
    elif isinstance(value, datetime.date | np.datetime64) or type(value).__name__ == "Period":
        kind = "date"
    else:
        return None
    return None if is_missing_value(value) else kind


def date_kind(X: Any, j: int, type_name: str) -> str | None:
    """What a column of a table holds, as in `kind_of_cell`: by its type or, for objects, by its cells.

    Parameters
    ----------
    type_name : name of the type of the column, as `softwood.core.tables.type_names` gives it
    """
    if type_name.startswith(("timedelta", "duration")):
        return "duration"
    if type_name.startswith(("date", "timestamp", "period")):
        return "date"
    if type_name.startswith("time"):
        return "time"
    if type_name != "object":
        return None
    found = (kind_of_cell(value) for value in column_cells(X, j)[0])
    return next((kind for kind in found if kind is not None), None)


# Cells


def read_times(X: Any, j: int, name: str, kind: str, zone: str | None) -> tuple[np.ndarray, str]:
    """A column of dates as datetime64[us], one of durations or times as timedelta64[us]; NaT where missing.

    Parameters
    ----------
    name : name of the column, for errors
    kind : what it holds, or held in `fit`, as in `kind_of_cell`
    zone : name of the time zone of `fit`, empty if there was none; None in `fit` itself

    Returns
    -------
    the times, of dates with a time zone those of its clock, and the name of the time zone
    """
    times, found = _by_type(X, j, kind) or _by_cell(*column_cells(X, j), name, kind, zone)
    if zone is None:
        zone = "" if found is None else found if _is_zone(found) else "UTC"
    elif found is not None and bool(zone) != bool(found):
        what = (
            f"has the time zone {found}, and had none in fit" if found else f"has no time zone, and had {zone} in fit"
        )
        how = f".dt.tz_convert({found!r}).dt.tz_localize(None)" if found else f".dt.tz_localize({zone!r})"
        raise ValueError(f"Column {name!r} {what}: convert it, in pandas with X[{name!r}]{how}.")
    return (_on_clock(times, zone) if zone else times), zone


def read_time(value: Any, name: str, kind: str, zone: str | None) -> tuple[np.ndarray, str]:
    """A single cell, not missing, as `read_times` reads a column of one row."""
    cells = np.empty((1, 1), dtype=object)
    cells[0, 0] = value
    return read_times(cells, 0, name, kind, zone)


def _by_type(X: Any, j: int, kind: str) -> tuple[np.ndarray, str | None] | None:
    """Times of a column whose type has a quick conversion, and the name of its time zone; None for other columns."""
    if hasattr(X, "iloc"):
        series: Any = X.iloc[:, j]
        series = series.dt.to_timestamp() if str(series.dtype).startswith("period") else series
    elif hasattr(X, "get_column"):
        series = X.get_column(X.columns[j])
    else:
        series = X[X.columns[j]] if hasattr(X, "columns") else np.asarray(X)[:, j]
    type_name = str(series.dtype)
    if not re.match("datetime|timedelta|timestamp|duration|date$", type_name, re.IGNORECASE):
        return None
    zone = zone_of(type_name)
    if hasattr(X, "iloc") and zone:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    array = series if isinstance(series, np.ndarray) else series.to_numpy()  # polars gives the time of UTC
    if array.dtype.kind != ("M" if kind == "date" else "m"):
        return None
    return array.astype(f"{array.dtype.kind}8[us]"), zone


def zone_of(type_name: str) -> str:
    """Name of the time zone in the name of a type of pandas or polars; empty if there is none."""
    found = re.search(r"tz=([^\]]+)\]|time_zone='([^']+)'|datetime64\[\w+, ([^\]]+)\]", type_name)
    return next(filter(None, found.groups()), "") if found else ""


def _by_cell(
    values: np.ndarray, is_missing: np.ndarray, name: str, kind: str, zone: str | None
) -> tuple[np.ndarray, str | None]:
    """Times of a column of objects; the time zone is that of the first date, and UTC for dates that have one."""
    out = np.full(len(values), "NaT", dtype="M8[us]" if kind == "date" else "m8[us]")
    found: str | None = None
    for i in np.flatnonzero(~is_missing).tolist():
        value = values[i]
        if kind_of_cell(value) != kind:
            raise _not_dates(name, kind, value, zone is not None)
        if type(value).__name__ == "Period":
            value = value.to_timestamp()
        if kind == "time":
            value = datetime.datetime.combine(datetime.date.min, value) - datetime.datetime.min
        own = getattr(value, "tzinfo", None)
        if kind == "date":
            found = ("" if own is None else str(own)) if found is None else found
            if (own is None) == bool(found):
                raise ValueError(f"Column {name!r} holds dates with and without a time zone; convert it to one kind.")
        if own is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        out[i] = np.datetime64(value, "us") if kind == "date" else np.timedelta64(value, "us")
    return out, found


def _not_dates(name: str, kind: str, value: Any, is_later: bool) -> ValueError:
    function = "to_datetime" if kind == "date" else "to_timedelta"
    words = {"date": "dates", "duration": "durations", "time": "times"}[kind]
    now = f"text now, such as {value!r}" if isinstance(value, str) else f"{value!r} now"
    what = f"held {words} in fit, and holds {now}" if is_later else f"holds {words} and other values, such as {value!r}"
    how = "" if is_later else ", errors='coerce'"
    return ValueError(f"Column {name!r} {what}. Convert it, in pandas with pd.{function}(X[{name!r}]{how}).")


def representatives(X: Any, j: int, name: str, kind: str) -> list[Any]:
    """A few cells of a column with the same first date, time zone, and different hours, weekdays and months as all."""
    times, zone = read_times(X, j, name, kind, None)
    known = np.unique(times[~np.isnat(times)])
    if len(known) == 0 or kind != "date":
        values = known[:1].tolist()
        return [(datetime.datetime.min + value).time() for value in values] if kind == "time" else values
    kept = [np.unique(_part(known, part), return_index=True)[1] for part in DATE_PARTS[1:]]
    clock = _zone(zone) if zone else None
    return [time.replace(tzinfo=clock) for time in known[np.unique(np.concatenate([[0], *kept]))].tolist()]


# Time zones


def _zone(name: str) -> datetime.tzinfo:
    fixed = re.fullmatch(r"(?:UTC)?([+-])(\d\d):?(\d\d)", name)
    if name == "UTC":
        return datetime.UTC
    if fixed is None:
        return ZoneInfo(name)
    offset = datetime.timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
    return datetime.timezone(offset if fixed[1] == "+" else -offset)


def _is_zone(name: str) -> bool:
    try:
        _zone(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _on_clock(times: np.ndarray, zone: str) -> np.ndarray:
    """The times that clocks of the zone show at these times of UTC."""
    if not _is_zone(zone):
        raise ValueError(f"The time zone {zone!r} is not known on this machine; pip install tzdata brings all of them.")
    clock = _zone(zone)
    # Offsets change at quarters of an hour at most.
    quarters, place = np.unique(times.astype("M8[15m]"), return_inverse=True)
    offsets = np.zeros(len(quarters), dtype="m8[us]")
    for k, begin in enumerate(quarters.astype("M8[us]").tolist()):
        if isinstance(begin, datetime.datetime):  # not for a missing date, or one that Python has no name for
            offset = begin.replace(tzinfo=datetime.UTC).astimezone(clock).utcoffset()
            offsets[k] = np.timedelta64(offset or datetime.timedelta(), "us")
    return times + offsets[place.reshape(times.shape)]
