import numpy as np
import pytest

import imkpl.kernels
from imkpl.kernels import (
    Gaussian,
    KernelStack,
    NamedKernel,
    PerFeatureGaussian,
    Precomputed,
    resolve_bank,
)


def dot(X, Y):
    return X @ Y.T


def test_names_and_banks():
    assert type(resolve_bank("per_feature_gaussian")) is PerFeatureGaussian
    assert type(resolve_bank("precomputed")) is Precomputed
    bank = PerFeatureGaussian(scales=(2.0,))
    assert resolve_bank(bank) is bank


def test_kernels_become_stacks():
    assert resolve_bank("rbf") == KernelStack((NamedKernel("rbf"),))
    assert resolve_bank(Gaussian()) == KernelStack((Gaussian(),))
    assert resolve_bank(dot).kernel_names() == ["dot"]
    assert resolve_bank([Gaussian(), dot, "linear"]).kernel_names() == ["gaussian", "dot", "linear"]


@pytest.mark.parametrize("kernels", ["global_alignments", 3, None])
def test_unknown_choices_are_explained(kernels):
    with pytest.raises(ValueError, match=r"'per_feature_gaussian', 'per_column'.*or a list"):
        resolve_bank(kernels)


def test_every_exported_name_exists():
    assert all(np.vectorize(imkpl.kernels.__dict__.__contains__)(imkpl.kernels.__all__))
    assert imkpl.kernels.__all__ == sorted(imkpl.kernels.__all__)
