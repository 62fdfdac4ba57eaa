"""The public face of banks."""

import dataclasses

import pytest

import imkpl.kernels
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.precomputed import Tabulated
from imkpl.scale import DaskBank

MEMBERS = {
    "reads",
    "n_kernels",
    "kernel_columns",
    "kernel_names",
    "adapt",
    "evaluate",
    "select",
    "combine",
    "contract",
    "contract_rows",
    "contract_pairs",
    "pairs",
}
BANKS = [
    one
    for one in (*vars(imkpl.kernels).values(), Tabulated, DaskBank)
    if isinstance(one, type) and issubclass(one, BaseKernelBank) and one is not BaseKernelBank
]


def public_members(bank):
    return {name for name in dir(bank) if not name.startswith("_")}


def test_a_bank_has_twelve_public_members():
    assert public_members(BaseKernelBank) == MEMBERS


@pytest.mark.parametrize("bank", BANKS, ids=lambda bank: bank.__name__)
def test_banks_add_parameters_only(bank):
    parameters = {field.name for field in dataclasses.fields(bank)}
    assert public_members(bank) - parameters == MEMBERS


def test_the_exported_banks_are_found():
    assert len(BANKS) == 11
