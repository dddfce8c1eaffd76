"""The parts of the Python module that are the same for every model."""

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

NUMBERS = """
# Columns of numbers: mean and standard deviation.
NUMBERS = {"""
SCALED = """
# Columns of numbers scaled by their quantiles: the line through these numbers and what
# they are scaled to; x["a"] is the scaled number.
SCALED = {"""
HOLES = """
# Indicators x["a", MISSING], 1 where a number is missing, else 0: mean and deviation.
HOLES = {"""
MARKERS = """
# What else means missing in columns of numbers: texts, and numbers of each column."""
CATEGORIES = """
# Indicators x["a", "b"], 1 where column "a" holds "b", else 0: mean and deviation.
CATEGORIES = {"""
SPELLINGS = """
# Other ways to write them.
SPELLINGS = {"""

STANDARDISED = '''def standardised(row):
    """The columns of a row in standard deviations from their means."""
    x = {}'''
STANDARDISE_NUMBERS = """
    for name, (mean, deviation) in NUMBERS.items():
        value = number(row, name)
        z = 0.0 if value is MISSING else (value - mean) / deviation
        x[name] = max(-LARGEST, min(LARGEST, z))  # the model has the same limits"""
STANDARDISE_SCALED = """
    for name, (numbers, scaled) in SCALED.items():
        value = number(row, name)
        x[name] = 0.0 if value is MISSING else on_line(value, numbers, scaled)"""
STANDARDISE_HOLES = """
    for name, (mean, deviation) in HOLES.items():
        indicator = 1.0 if number(row, name) is MISSING else 0.0
        x[name, MISSING] = (indicator - mean) / deviation"""
STANDARDISE_CATEGORIES = """
    for name, listed in CATEGORIES.items():
        cell = category(row, name)
        found = cell if cell in listed else OTHER
        for one, (mean, deviation) in listed.items():
            indicator = 1.0 if one == found else 0.0
            x[name, one] = (indicator - mean) / deviation"""

CELL = '''def cell_of(row, name):
    """What a row holds in a column; None, NaN and pandas.NA are MISSING."""
    if name not in row:
        raise ValueError(
            f"The row has no column {name!r}. Add it, with None for a missing value."
        )
    cell = row[name]
    if cell is None or type(cell).__name__ == "NAType":
        return MISSING
    return cell if cell == row[name] else MISSING  # NaN does not equal itself'''
NUMBER = '''def number(row, name):
    """The number in a column."""
    cell = cell_of(row, name){text}{days}
    if cell is MISSING:
        return MISSING
    if isinstance(cell, (str, bytes)) or not hasattr(cell, "__float__"):
        raise ValueError(
            f"Column {name!r} must hold a number, not {cell!r}. "
            "Convert it, or give None for a missing value."
        )
    value = cell if isinstance(cell, int) else float(cell)  # ints may exceed floats{number}
    if abs(value) > LARGEST:
        raise ValueError(
            f"Column {name!r} holds {cell!r}: infinity, or beyond {LARGEST:.2g}. "
            "Replace it by a finite number, or by None for a missing value."
        )
    return float(value)'''
ON_LINE = '''def on_line(value, numbers, scaled):
    """A scaled number: straight from knot to knot, flat outside of them."""
    if value >= numbers[-1]:
        return scaled[-1]
    value = max(numbers[0], value)
    k = sum(start <= value for start in numbers[1:-1])
    share = (value - numbers[k]) / (numbers[k + 1] - numbers[k])
    return min(scaled[k] + (scaled[k + 1] - scaled[k]) * share, scaled[k + 1])'''
MARKED_TEXT = """
    if isinstance(cell, str) and cell in MISSING_TEXTS:
        return MISSING"""
MARKED_NUMBER = """
    if value in MISSING_NUMBERS[name]:
        return MISSING"""
IN_DAYS = """
    if name in DATES and cell is not MISSING:
        cell = days(cell, name)"""
DAYS = '''def days(cell, name):
    """A date, or a text of ISO 8601, as days since 1970-01-01; days stay what they are."""
    is_numpy_date = type(cell).__name__ == "datetime64"
    if hasattr(cell, "__float__") and not is_numpy_date:
        return cell
    text = str(cell)[:26] if is_numpy_date else str(cell).strip()  # without nanoseconds
    zone = text[-1:] in ("Z", "z")
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if zone else text)
    except ValueError:
        raise ValueError(
            f"Column {name!r} must hold a date such as 2020-12-31, not {cell!r}. "
            "Convert it, or give None for a missing value."
        ) from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(timezone.utc).replace(tzinfo=None)
    return (moment - datetime(1970, 1, 1)) / timedelta(days=1)'''
CATEGORY = '''def category(row, name):
    """The category in a column, as text, however it is written."""
    cell = cell_of(row, name)
    if cell is MISSING:
        return MISSING
    is_decimal = type(cell).__name__ == "Decimal"  # 2.50 is 2.5, as of every number
    text = f"{cell.normalize():f}" if is_decimal else str(cell)'''

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
