"""Templates for the parts of the Python module that are the same for every model."""

DOCSTRING = '''"""Predictions of a neural rule model, in Python without any package.

{size}

{functions}

A row is a dict from column names to values; None and NaN are missing values. It must
have the columns listed below, others are ignored.

Each rule adds its value times its activation, which is the smallest of its literals, or
0 if one is negative. The code has every digit and takes columns in standard deviations
from their means: x["a"] loses none, however far from zero the column "a" lies. Comments
are in the units of the table and rounded; "..." leaves out the columns of smaller
weight, which are taken at their means.{deep}
"""'''
DEEP = """

These rules are deep: literals A, B, ... stand before those that the smallest is taken
of, which see only their positive parts A_plus, B_plus, ..."""

PREDICT = '''def predict(row: dict):
    """{text}"""
    {code}'''
PREDICT_PROBA = '''def predict_proba(row: dict):
    """The probability of each class."""
    outputs = {outputs}
    largest = max(outputs)  # taken out, so that no exponential overflows
    sizes = [math.exp(output - largest) for output in outputs]
    return {{label: size / sum(sizes) for label, size in zip(CLASSES, sizes)}}'''
DECISION = '''def decision(row: dict):
    """{text}"""
    x = standardised(row)
    return {code}'''
ACTIVATION = '''def activation(*literals):
    """The smallest of some literals, or 0 if one is negative."""
    return max(0.0, min(literals))'''

STANDARDISED = '''def standardised(row):
    """The columns of a row in standard deviations from their means.

    x["a", "b"] stands for whether column "a" holds "b".
    """
    x = {}'''

CELL = '''def cell_of(row, name):
    """What a row holds in a column; None, NaN and pandas.NA are MISSING."""
    if name not in row:
        raise ValueError(
            f"The row has no column {name!r}. Add it, with None for a missing value."
        )
    cell = row[name]
    if cell is None or type(cell).__name__ == "NAType"{marked}:
        return MISSING
    return cell if cell == row[name] else MISSING  # NaN does not equal itself'''
CATEGORY = '''def category(row, name):
    """The category in a column, as text."""
    cell = cell_of(row, name)
    if cell is MISSING:
        return MISSING
    is_decimal = type(cell).__name__ == "Decimal"  # 2.50 is 2.5, as of every number
    text = f"{cell.normalize():f}" if is_decimal else str(cell)
    return {marked}text'''
# What these two check if some texts of the table mean missing.
MARKED_CELL = " or (isinstance(cell, str) and cell in MISSING_TEXTS)"
MARKED_CATEGORY = "MISSING if text in MISSING_TEXTS else "
MARKERS = """
# Texts that mean missing, too."""
# Functions that only some modules call. A function stands before those it calls.
READING = {
    "standard": '''def standard(value, mean, deviation):
    """A number in deviations from a mean, within limits; 0 if it is missing."""
    if value is MISSING:
        return 0.0
    return max(-LARGEST, min(LARGEST, (value - mean) / deviation))''',
    "filled": '''def filled(value, otherwise):
    """A number, or another one if it is missing."""
    return otherwise if value is MISSING else value''',
    "on_line": '''def on_line(value, numbers, scaled):
    """The line from point to point, flat outside of them; MISSING stays MISSING."""
    if value is MISSING:
        return MISSING
    if value >= numbers[-1]:
        return scaled[-1]
    value = max(numbers[0], value)
    k = sum(start <= value for start in numbers[1:-1])
    share = (value - numbers[k]) / (numbers[k + 1] - numbers[k])
    return min(scaled[k] + (scaled[k + 1] - scaled[k]) * share, scaled[k + 1])''',
    "is_any": '''def is_any(cell, *listed):
    """1 if a cell is one of those listed, else 0."""
    return 1.0 if cell in listed else 0.0''',
    "is_none": '''def is_none(cell, *listed):
    """0 if a cell is one of those listed, else 1."""
    return 0.0 if cell in listed else 1.0''',
    "number": '''def number(row, name, *holes):
    """The number in a column, MISSING if it is one of the holes."""
    cell = cell_of(row, name)
    if cell is MISSING:
        return MISSING
    value = as_number(cell)
    if value is None:
        raise ValueError(
            f"Column {name!r} must hold a number, not {cell!r}. "
            "Convert it, or give None for a missing value."
        )
    if value in holes:
        return MISSING
    if abs(value) > LARGEST:
        raise ValueError(
            f"Column {name!r} holds {cell!r}: infinity, or beyond {LARGEST:.2g}. "
            "Replace it by a finite number, or by None for a missing value."
        )
    return value''',
    "days": '''def days(row, name, *holes):
    """A date, a text that says one, or a number of days, as days since 1970-01-01."""
    cell = cell_of(row, name)
    if cell is MISSING:
        return MISSING
    if type(cell).__name__ == "datetime64":  # of NumPy, in any unit
        count = int(cell.astype("datetime64[us]").astype("int64")) / 86_400_000_000
    elif isinstance(cell, datetime):
        moment = datetime.combine(cell.date(), cell.time())
        count = (moment - EPOCH - (cell.utcoffset() or timedelta(0))) / DAY
    elif isinstance(cell, date):
        count = (cell - EPOCH.date()) / DAY
    else:
        count = days_of_text(cell) if isinstance(cell, str) else as_number(cell)
    if count in holes:
        return MISSING
    if count is None or abs(count) > LAST_MOMENT:
        raise ValueError(
            f"Column {name!r} must hold a date such as 2020-12-31, not {cell!r}. "
            "A number counts the days since 1970-01-01, up to the year 9999. "
            "Convert it, or give None for a missing value."
        )
    return count''',
    "as_number": '''# Types of NumPy that float() accepts although they are not numbers.
NO_NUMBERS = ("datetime64", "timedelta64", "complex64", "complex128", "clongdouble")


def as_number(cell):
    """A cell as a number; None if it is a text, a list, a date or a complex number."""
    if hasattr(cell, "__len__") or not hasattr(cell, "__float__"):
        return None
    if type(cell).__name__ in NO_NUMBERS:
        return None
    try:
        return float(cell)
    except OverflowError:  # of an integer, which has no end
        return float("inf")''',
    "days_of_text": r'''EPOCH, DAY = datetime(1970, 1, 1), timedelta(days=1)
LAST_MOMENT = 2932897  # in days: the end of the year 9999
# A date with or without a time and a zone.
ISO_DATE = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[T ](?P<minute>(?:[01]\d|2[0-3]):[0-5]\d)(?P<second>:[0-5]\d(?:\.\d{1,9})?)?"
    r" ?(?P<zone>Z|UTC|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


def days_of_text(text):
    """The days since 1970-01-01 that a text says; None if it says no date."""
    match = ISO_DATE.fullmatch(text.strip())
    if match is None:
        return None
    ahead = timedelta(0)  # of UTC
    zone = match["zone"]
    if zone not in (None, "Z", "UTC"):
        digits = zone[1:].replace(":", "").ljust(4, "0")
        ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        ahead = -ahead if zone[0] == "-" else ahead
    clock = match["minute"] or "00:00"
    try:
        moment = datetime.fromisoformat(f"{match['day']} {clock}:00")
    except ValueError:
        return None
    if abs(ahead) >= DAY:
        return None
    second = timedelta(seconds=float((match["second"] or ":00")[1:]))
    return (moment - EPOCH + second - ahead) / DAY''',
}

CARD = '''def points(row: dict) -> int:
    """Whole points: those of the base, and of each rule by itself."""
    x = standardised(row)
    return BASE + sum(round({sign}rule(x) / UNIT) for rule in RULES)'''
CARD_LEVELS = '''def points(row: dict) -> int:
    """Whole points: those of the base, and of the level that each rule reaches."""
    x = standardised(row)
    total = BASE
    for rule, size, levels in LEVELS:
        total += levels[min(math.ceil(rule(x) / size), len(levels) - 1)]
    return total'''
POINTS_PROBABILITY = '''def points_probability(row: dict) -> float:
    """The probability of the adverse class that the points stand for."""
    odds = max(-700.0, min(700.0, START - (points(row) - BASE) * UNIT))
    return 1 / (1 + math.exp(-odds))'''
POINTS_PREDICTION = '''def points_prediction(row: dict) -> float:
    """The number that the points stand for."""
    return points(row) * UNIT'''
POINTS = "# The score card: what every row starts with, and what one point is."
LEVELS = """
# Rules, how much one of them adds on each level, and the points of the levels from 0.
LEVELS = ["""
REASONS = '''def reasons(row: dict, k: int = {k}) -> list:
    """What speaks for the adverse outcome, the strongest first: at most k sentences.

    A rule is a reason by how much worse it leaves the row than the average row.
    """
    x = standardised(row)
    found = []
    for place, (rule, usual, fires, missed) in enumerate(REASONS):
        parts = rule(x)
        added = {added}
        sentence = fires if added else missed
        if sentence and added - usual > FAINT:
            found.append((added - usual, -place, sentence))
    return [sentence for _, _, sentence in sorted(found, reverse=True)[:k]]'''
REASONS_TABLE = """
# Rules that can be a reason: what each adds on average to the adverse outcome, what to say
# where it fires, and where it does not.
REASONS = ["""
