import pytest

from imkpl._threads import limited_threads


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """These problems are so small that waking a second thread takes longer than solving them."""
    with limited_threads(1):
        yield
