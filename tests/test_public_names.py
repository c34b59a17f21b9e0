"""`import nar`: a few names, each imported when it is first used (`test_import_budgets.py`)."""

import nar


def test_every_public_name_is_there_and_documented():
    for name in nar.__all__:
        assert getattr(nar, name).__doc__, name
    assert dir(nar) == nar.__all__
