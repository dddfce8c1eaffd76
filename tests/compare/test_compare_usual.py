"""Comparisons of models whose text values have other usual outcomes."""

from models import fitted_on_cities

from neuralrules import compare, read_rules


def edited(model, city, usual):
    lines = model.exact_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith(f'  "{city}" '))
    lines[place] = f'  "{city}" {lines[place].split()[1]} [{usual}]'
    return model.edit(text="\n".join(lines) + "\n")


def test_a_model_read_from_its_text_is_the_same():
    for kind in ("two classes", "three classes", "two targets"):
        model, X, _ = fitted_on_cities(kind)
        again = read_rules(model.exact_text(), estimator=True)
        compared = compare(model, again, X)
        assert compared.is_same
        assert compared.usual == ()


def test_other_usual_outcomes_are_told():
    model, X, _ = fitted_on_cities("two classes")
    other = edited(model, "town0", 0.01)
    compared = compare(model, other, X)
    assert not compared.is_same
    assert compared.count("same") == model.network_.n_rules
    assert compared.usual == (("the usual rate of good of city", "town0", "87.4 %", "1 %"),)
    said = "The usual rate of good of city differs, most for town0: 87.4 % in A, 1 % in B."
    assert said in str(compared)
    swapped = compare(other, model)
    assert swapped.usual[0][2:] == ("1 %", "87.4 %")


def test_outcomes_of_one_column_are_told_apart():
    """Rules about two classes of one column are two rules, not one that changed a little."""
    model, _, _ = fitted_on_cities("three classes")
    one = model.edit(replace={0: "usual(city, good) > 0.3"})
    other = model.edit(replace={0: "usual(city, late) > 0.13"})
    (change,) = [rule for rule in compare(one, other).rules if rule.kind != "same"][:1]
    texts = [text for pair in change.changes for text in pair] or [change.text]
    assert any("usual(city, good)" in text for text in texts)
