"""The order in which workers take what waits."""

from cluster.actors import Backlog, Item


def test_backlog_keeps_to_a_group_while_it_lasts():
    backlog = Backlog([Item(name, name[0]) for name in ("a1", "b1", "b2", "a2", "b3")])
    assert [backlog.take("a").key for _ in range(5)] == ["a1", "a2", "b1", "b2", "b3"]


def test_backlog_gives_returned_items_first():
    backlog = Backlog([Item(name, "a") for name in ("a1", "a2", "a3")])
    first, second = backlog.take("a"), backlog.take("a")
    backlog.put_back([first, second])
    assert [backlog.take("a").key for _ in range(len(backlog))] == ["a1", "a2", "a3"]


def test_a_worker_leaves_the_groups_of_others_alone_while_there_is_another():
    backlog = Backlog([Item(name, name[0]) for name in ("a1", "a2", "a3", "b1")])
    assert backlog.take("", others={"a"}).key == "b1"
    assert backlog.take("b", others={"a"}).key == "a1"
