import pytest

from nar.base.waiting import retried, wait_until


def failing(times, error):
    """An attempt that fails so many times before it gives how often it was made."""
    made = 0

    def attempt():
        nonlocal made
        made += 1
        if made <= times:
            raise error
        return made

    return attempt


def is_timeout(error):
    return isinstance(error, TimeoutError)


def test_an_attempt_is_made_again_while_its_errors_may_pass():
    assert retried(failing(2, TimeoutError()), is_timeout, limit_s=60, pause_s=0) == 3


def test_an_error_that_cannot_pass_is_raised_at_once():
    attempt = failing(1, KeyError())
    with pytest.raises(KeyError):
        retried(attempt, is_timeout, limit_s=60, pause_s=0)
    assert attempt() == 2


def test_an_error_after_the_limit_is_raised():
    with pytest.raises(TimeoutError):
        retried(failing(1, TimeoutError()), is_timeout, limit_s=-1, pause_s=0)


def test_a_condition_that_comes_true_is_waited_for():
    looks, signs = iter([False, False, True]), []
    is_done = wait_until(
        lambda: next(looks), limit_s=60, pause_s=0, meanwhile=lambda: signs.append("alive")
    )
    assert is_done
    assert signs == ["alive", "alive"]


def test_a_condition_that_does_not_come_true_is_given_up():
    assert not wait_until(lambda: False, limit_s=-1, pause_s=0)
