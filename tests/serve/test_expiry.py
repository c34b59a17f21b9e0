"""When certificates end, beside what a library of certificates reads in the same files."""

from datetime import timedelta

import pytest
from authority import Authority
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from nar.wire.tls import earliest_end_s


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


def end_of(path):
    return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc.timestamp()


@settings(max_examples=25)
@given(st.integers(1, 100 * 365), st.text("abcdefg ", min_size=1, max_size=60))
def test_the_end_is_that_of_the_certificate(authority, days, name):
    """Years before and after 2050 are written in two ways, and long names have long lengths."""
    path, _ = authority.issue(name, lasts=timedelta(days=days))
    assert earliest_end_s(path.read_text()) == end_of(path)


def test_of_a_chain_the_first_end_counts(authority):
    path, _ = authority.issue("server", lasts=timedelta(days=9))
    chain = "a chain\n" + path.read_text() + "\n" + authority.file.read_text()
    assert earliest_end_s(chain) == end_of(authority.file) < end_of(path)
