"""The order in which workers take what waits."""

from cluster.actors import Backlog, Item


def test_backlog_keeps_to_a_group_while_it_lasts():
    backlog = Backlog([Item(name, name[0]) for name in ("a1", "b1", "b2", "a2", "b3")])
    assert [backlog.take("a").key for _ in range(5)] == ["a1", "a2", "b1", "b2", "b3"]


def test_backlog_gives_returned_items_first():
    backlog = Backlog([Item(name, "a") for name in ("a1", "a2", "a3")])
    first, second = backlog.take("a"), backlog.take("a")
    backlog.put_back([first, second])
    assert [backlog.take("a").key for _ in range(backlog.count(9))] == ["a1", "a2", "a3"]


def test_a_worker_leaves_the_groups_of_others_alone_while_there_is_another():
    backlog = Backlog([Item(name, name[0]) for name in ("a1", "a2", "a3", "b1")])
    assert backlog.take("").key == "a1"
    assert backlog.take("").key == "b1"
    assert backlog.take("b").key == "a2"


def test_a_group_that_its_worker_has_given_up_is_free_again():
    backlog = Backlog([Item(name, name[0]) for name in ("a1", "b1", "b2")])
    assert [backlog.take("").key, backlog.take("").key] == ["b1", "a1"]
    lost = backlog.take("b")
    assert not backlog
    backlog.put_back([Item("a1", "a"), lost])
    assert [backlog.take("a").key, backlog.take("a").key] == ["a1", "b2"]


def test_a_stream_is_read_as_far_as_it_is_needed():
    read = []

    def items():
        for number in range(100):
            read.append(number)
            yield Item(f"{number}", f"g{number // 4}")

    backlog = Backlog(items(), is_streamed=True)
    assert read == []
    assert [backlog.take("").key, backlog.take("").key] == ["0", "4"]
    assert len(read) <= 10
    assert backlog.count(6) == 6
    taken = []
    while backlog:
        taken.append(int(backlog.take("g0").key))
    assert sorted([0, 4, *taken]) == list(range(100))
