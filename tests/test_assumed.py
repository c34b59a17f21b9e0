"""Records of what was assumed of a user's own model."""

import json

from nar.graphs.assumed import Assumed, AssumedValue

WHOLE = Assumed(
    inputs=("ids=1x32:int64", "mask=none"),
    weights_reached=0.87,
    sizes_matter=True,
    is_sure=False,
    doubts=("the call reaches 87% of the weights",),
    values=(AssumedValue("width", "64", "configs/a.yaml:3"),),
    stand_ins=("apex: nothing of it was needed",),
    skipped=("net.py:7: load_state_dict",),
)


def test_what_was_assumed_comes_back_from_json():
    for assumed in (WHOLE, Assumed()):
        assert Assumed.from_plain(json.loads(json.dumps(assumed.to_plain()))) == assumed
