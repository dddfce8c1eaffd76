"""Classes or numbers: what the outputs of a network stand for."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from neuralrules._expression._nodes import Named, evaluate
from neuralrules._task._class_losses import CLASS_LOSSES
from neuralrules._task._number_losses import NUMBER_LOSSES, Huber
from neuralrules._task._task import Task, chosen_classes, class_probabilities

moderate = st.floats(-20, 20, width=32)


def outputs_of(n_outputs):
    return arrays(
        np.float64, st.tuples(st.integers(1, 6), st.just(n_outputs)), elements=moderate
    )


def classes(*labels, loss="logistic"):
    return Task.of_classes(np.array(labels), loss)


def numbers(y, loss="squared", weights=None, flat=False):
    y = np.array(y, float)
    weights = np.ones(len(y)) if weights is None else np.array(weights, float)
    return Task.of_numbers(y, weights, loss, flat=flat)


@pytest.mark.parametrize(("labels", "n_outputs"), [("ab", 1), ("abc", 3), ("abcd", 4)])
def test_two_classes_share_one_output(labels, n_outputs):
    task = classes(*labels)
    assert task.are_classes
    assert (task.n_classes, task.n_outputs, task.n_totals) == (
        len(labels),
        n_outputs,
        len(labels),
    )
    assert task.labels == list(labels)
    assert task.output_names == list(labels)[-n_outputs:]


def test_numbers_have_an_output_each():
    task = numbers([[1, 5], [3, 9]])
    assert not task.are_classes
    assert (task.n_classes, task.n_outputs, task.n_totals) == (0, 2, 2)
    assert task.labels == []
    assert task.output_names == [0, 1]
    assert not task.gives_probabilities


def test_which_losses_give_probabilities():
    found = {loss: classes("a", "b", loss=loss).gives_probabilities for loss in CLASS_LOSSES}
    assert found == {"logistic": True, "hinge": False, "squared": False}


@given(outputs_of(1))
def test_the_second_of_two_classes_is_chosen_where_the_output_is_positive(outputs):
    task = classes("no", "yes")
    expected = ["yes" if output > 0 else "no" for output in outputs[:, 0]]
    assert task.predictions(outputs).tolist() == expected
    probabilities = task.probabilities(outputs)
    np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-outputs[:, 0])))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@given(outputs_of(3))
def test_of_several_classes_the_first_of_the_largest_outputs_is_chosen(outputs):
    task = classes("a", "b", "c")
    expected = ["abc"[list(row).index(max(row))] for row in outputs]
    assert task.predictions(outputs).tolist() == expected
    np.testing.assert_allclose(task.probabilities(outputs), softmax(outputs, axis=1))
    assert chosen_classes(outputs).tolist() == ["abc".index(label) for label in expected]


def test_probabilities_of_extreme_outputs_are_finite():
    assert class_probabilities(np.array([[-1e4], [1e4]])).tolist() == [[1, 0], [0, 1]]
    assert class_probabilities(np.array([[-1e4, 0, 1e4]])).tolist() == [[0, 0, 1]]


@given(
    arrays(np.float64, (5, 2), elements=st.floats(-1e3, 1e3)),
    st.lists(st.floats(0.1, 5), min_size=5, max_size=5),
)
def test_standardised_numbers_have_mean_zero_and_deviation_one(y, weights):
    y[0] = [2e3, -3e3]  # so that they vary
    task = numbers(y, weights=weights)
    standardised = (y - task.centre) / task.scale
    np.testing.assert_allclose(np.average(standardised, 0, weights), 0, atol=1e-9)
    np.testing.assert_allclose(np.average(standardised**2, 0, weights), 1)
    np.testing.assert_array_equal(task.standardised(y), standardised.astype(np.float32))


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_a_network_in_target_units_predicts_what_the_standardised_one_does(loss):
    rng = np.random.RandomState(0)
    y = rng.poisson(5, (60, 2)) * [1.0, 100.0]
    task = numbers(y, loss)
    values, intercept = rng.randn(4, 2).astype(np.float32), rng.randn(2)
    active = rng.rand(7, 4)
    standardised = task.loss.link.predictions(active @ values + intercept)
    expected = standardised * task.scale + task.centre
    shown, shift = task.in_units(values, intercept)
    assert shown.dtype == np.float32
    np.testing.assert_allclose(task.predictions(active @ shown + shift), expected, rtol=1e-5)


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_predictions_have_the_shape_of_y(loss):
    y = np.arange(1.0, 9.0)[:, None]
    outputs = np.linspace(-1, 1, 8)[:, None]
    assert numbers(y, loss, flat=True).predictions(outputs).shape == (8,)
    assert numbers(y, loss).predictions(outputs).shape == (8, 1)


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_links_can_be_undone(loss):
    link = NUMBER_LOSSES[loss].link
    outputs = np.linspace(-5, 5, 11)
    np.testing.assert_allclose(link.inverse(link.predictions(outputs)), outputs, atol=1e-12)
    assert np.isfinite(link.predictions(np.array([1e6, -1e6]))).all()
    assert link.inverse(np.array([np.inf, -np.inf])).tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_exports_print_the_function_that_predicts(loss):
    link = NUMBER_LOSSES[loss].link
    expression = link.expression(Named("output"))
    for output in (-1e6, -3.5, 0.0, 2.25, 1e6):
        exported = evaluate(expression, {}, {"output": output})
        assert exported == pytest.approx(float(link.predictions(np.array(output))))


def test_the_scale_of_counts_is_their_mean_and_a_leaf_without_counts_is_not_minus_infinity():
    task = numbers([[0], [0], [6]], "poisson")
    assert (task.centre, task.scale) == (0, 2)
    values = task.leaf_values(np.array([3.0, 0.0, 4.0]), np.array([[3.0], [0.0], [0.0]]))
    np.testing.assert_allclose(values, np.log([[1], [1], [1 / 5]]))


def test_outliers_change_neither_centre_nor_scale_of_huber_loss():
    y = np.arange(101.0)[:, None]
    usual = numbers(y, "huber")
    y[-1] = 1e9
    assert (numbers(y, "huber").centre, numbers(y, "huber").scale) == (
        usual.centre,
        usual.scale,
    )
    assert usual.centre == 50
    assert usual.scale == pytest.approx(1.4826 * 25)
    mostly_equal = np.array([[1.0], [1], [1], [5]])
    assert numbers(mostly_equal, "huber").scale == pytest.approx(mostly_equal.std())


def test_a_weighted_median_is_that_of_repeated_rows():
    y = np.array([[3.0], [1], [2], [9]])
    weights = [1, 4, 2, 2]
    repeated = numbers(np.repeat(y, weights, axis=0), "huber")
    weighted = numbers(y, "huber", weights=weights)
    assert (weighted.centre, weighted.scale) == (repeated.centre, repeated.scale)


@given(arrays(np.float64, (3,), elements=st.floats(0.5, 20)))
def test_leaf_values_of_classes_are_margins(totals):
    n = totals.sum()
    expected = 2 * totals / n - 1
    two = classes("a", "b").leaf_values(np.array([totals[:2].sum()]), totals[None, :2])
    assert two[0, 0] == pytest.approx((totals[1] - totals[0]) / totals[:2].sum())
    more = classes("a", "b", "c").leaf_values(np.array([n]), totals[None])
    np.testing.assert_allclose(more[0], expected)
    assert classes("a", "b").leaf_values(np.zeros(1), np.zeros((1, 2))) == -1


def test_what_is_comparable():
    outputs = np.array([[1.0, 4.0, 1.0]], np.float32)
    assert classes("a", "b", "c").comparable(outputs).tolist() == [[-1, 2, -1]]
    assert classes("a", "b", "c", loss="hinge").comparable(outputs).tolist() == [[1, 4, 1]]
    task = numbers([[0, 0, 0], [2, 20, 200]])
    np.testing.assert_allclose(task.comparable(outputs), [[1, 0.4, 0.01]])
    assert classes("a", "b").comparable(outputs[:, :1]).tolist() == [[1]]


def test_a_task_survives_pickling_with_its_loss():
    for task in (classes("a", "b", "c"), numbers([[1], [2]], "poisson")):
        back = pickle.loads(pickle.dumps(task))
        assert back.loss == task.loss
        assert back.labels == task.labels
    assert pickle.loads(pickle.dumps(Huber(2.5))) == Huber(2.5) != Huber()


def test_the_prior_of_classes_counts_one_row_more_of_each():
    two = classes("a", "b").prior(np.array([10.0]), np.array([[8.0, 2.0]]))
    np.testing.assert_allclose(two, np.log(3 / 9))
    three = classes("a", "b", "c").prior(np.array([5.0]), np.array([[4.0, 1.0, 0.0]]))
    np.testing.assert_allclose(softmax(three), np.array([5, 2, 1]) / 8)
    assert three.sum() == pytest.approx(0, abs=1e-12)
    margins = classes("a", "b", loss="hinge").prior(np.array([10.0]), np.array([[8.0, 2.0]]))
    np.testing.assert_allclose(margins, -0.6)


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_the_prior_of_numbers_predicts_their_mean(loss):
    y = np.array([[1.0, 0.0], [3.0, 10.0], [8.0, 20.0]])
    task = numbers(y, loss)
    totals = task.standardised(y).sum(axis=0, keepdims=True).astype(float)
    _, intercept = task.in_units(
        np.zeros((1, 2), np.float32), task.prior(np.array([3.0]), totals)
    )
    np.testing.assert_allclose(task.predictions(intercept[None]), [[4, 10]], rtol=1e-6)


def test_the_prior_of_huber_loss_is_the_median():
    y = np.array([[1.0], [2.0], [1e9]])
    task = numbers(y, "huber")
    prior = task.prior(np.array([3.0]), task.standardised(y).sum(axis=0, keepdims=True))
    assert task.in_units(np.zeros((1, 1), np.float32), prior)[1] == 2
