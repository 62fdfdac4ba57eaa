"""The public face of banks and kernels."""

import dataclasses

import numpy as np
import pytest

import imkpl.kernels
from contracts.bank import check_kernels
from imkpl.kernels import BaseKernelBank, PerColumn, PerFeatureGaussian, PerWord
from imkpl.kernels.base import SampleKernels

BANKS = [
    one
    for one in vars(imkpl.kernels).values()
    if isinstance(one, type) and issubclass(one, BaseKernelBank) and one is not BaseKernelBank
]


def public_members(bank):
    return {name for name in dir(bank) if not name.startswith("_")}


def test_a_bank_only_makes_kernels():
    members = {"by_channel", "kind", "on", "on_rows", "weighed"}
    assert public_members(BaseKernelBank) == members


@pytest.mark.parametrize("bank", BANKS, ids=lambda bank: bank.__name__)
def test_banks_hold_parameters_only(bank):
    parameters = {field.name for field in dataclasses.fields(bank)}
    assert public_members(bank) - parameters - {"around"} == public_members(BaseKernelBank)
    assert bank.__dataclass_params__.frozen


@dataclasses.dataclass(frozen=True, eq=False)
class Powers(SampleKernels):
    """Powers of products of numbers, with nothing but what must be written."""

    powers: tuple[int, ...] = (1, 2, 3)

    per_kernel = ("powers",)

    def kernel_names(self, feature_names=None):
        return [f"power {power}" for power in self.powers]

    def evaluate(self, index):
        others = self.samples if self.is_square else self.others
        return np.multiply.outer(self.samples, others) ** self.powers[index]

    @classmethod
    def read(cls, X, form):
        return np.asarray(X), form


def test_everything_follows_from_the_matrix_of_one_kernel():
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 15))
    full, crossed = (np.multiply.outer(left, x)[..., np.newaxis] ** [1, 2, 3] for left in (x, y))
    check_kernels(Powers(x), full, y, crossed)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda k: k.combine([1.0]), r"weights have shape \(1,\), expected \(2,\)"),
        (lambda k: k.contract(np.ones((3, 3))), r"M has shape \(3, 3\), expected \(4, 4\)"),
        (lambda k: k.pairs([0], [1, 2]), "expected lists of one length"),
        (lambda k: k.with_mixes(np.ones((1, 4)) / 4), "are not linear in the samples"),
        (lambda k: k.cross(np.ones((1, 1))), "The samples have 1 columns, but a kernel reads"),
    ],
)
def test_bad_input_is_explained(call, sentence):
    kernels = PerFeatureGaussian().on(np.arange(8.0).reshape(4, 2))
    with pytest.raises(ValueError, match=sentence):
        call(kernels)


@pytest.mark.parametrize("bank", [PerColumn(), PerWord(), PerFeatureGaussian()])
def test_samples_without_a_column_that_a_kernel_reads_are_refused(bank):
    kernels = bank.on(np.eye(3)).select([2]).narrowed()
    with pytest.raises(ValueError, match=r"samples have 1 (column|word)s, but a kernel reads"):
        kernels.cross(np.ones((1, 1)))


def test_samples_and_kernels_that_are_not_there_are_no_index():
    kernels = PerFeatureGaussian().on(np.arange(8.0).reshape(4, 2))
    for call in (lambda: kernels.pairs([0], [4]), lambda: kernels.select([2])):
        with pytest.raises(IndexError, match="out of bounds"):
            call()
