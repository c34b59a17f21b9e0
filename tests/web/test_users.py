"""Who uses a block: how many are counted, how many are named."""

from corpora import item
from graphs import graph_of

from nar.answers.uses import uses_of
from nar.index.rows import index_entry
from nar.web.catalogue import Catalogue
from nar.web.users import users_of

CODE = 7


def test_a_family_beyond_those_that_are_named_is_named_when_it_is_wanted():
    graph = graph_of("input; conv 0")
    names = [f"timm:{number:03d}" for number in range(310)]
    rare = {"timm:200", "timm:309"}
    items = [item(name, graph, family="rare" if name in rare else "often") for name in names]
    uses = uses_of({CODE: 1 if name in rare else 2} for name in names)
    catalogue = Catalogue([index_entry(each) for each in items], {})
    counted = (uses, tuple(names))
    told = users_of(f"{CODE:016x}", counted, catalogue)
    assert told.total == 310
    assert told.families == (("often", 308), ("rare", 2))
    assert len(told.users) == 300
    assert {user.family for user in told.users} == {"often"}
    told = users_of(f"{CODE:016x}", counted, catalogue, "rare")
    assert (told.total, [user.name for user in told.users]) == (2, sorted(rare))
    assert told.families == (("often", 308), ("rare", 2))
