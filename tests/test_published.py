"""What timm has measured of its models, beside the hits that are them."""

import pytest

from nar.answers import published
from nar.answers.published import ACCURACY, SPEED, Published, figures_of, read_tables
from nar.base.errors import CorpusError

ROWS = (
    "model,img_size,top1\nnet.old,224,70.5\nnet.new,288,81.25\nnet.same,224,81.25\nother,160,60\n"
)
SPEEDS = "model,infer_img_size,infer_samples_per_sec\nnet,224,900.5\nnet,288,500.5\n"


def test_figures_of_one_size_stand_together(tmp_path):
    (tmp_path / ACCURACY).write_text(ROWS)
    (tmp_path / SPEED).write_text(SPEEDS)
    assert read_tables(tmp_path) == [
        Published("timm:net", "same", 224, 81.25, 900.5),
        Published("timm:other", "", 160, 60.0, None),
    ]


@pytest.mark.parametrize("rows", [None, "model,size\nnet,1\n", "model,img_size,top1\nnet,x,1\n"])
def test_other_tables_are_refused(tmp_path, rows):
    (tmp_path / SPEED).write_text(SPEEDS)
    if rows:
        (tmp_path / ACCURACY).write_text(rows)
    with pytest.raises(CorpusError, match="holds no tables of timm"):
        read_tables(tmp_path)


def test_what_is_written_reads_back(tmp_path, monkeypatch):
    figures = [Published("timm:net", "new", 224, 80.0, None)]
    monkeypatch.setattr(published, "package_path", lambda *_: tmp_path / "published.parquet")
    published.write_published(figures, "here, today")
    published.published.cache_clear()
    try:
        assert list(published.published().values()) == figures
    finally:
        published.published.cache_clear()


def test_a_network_has_the_figures_of_any_of_its_names():
    assert figures_of(["torchvision:resnet50", "timm:resnet50"]).name == "timm:resnet50"
    assert figures_of(["torchvision:resnet50"]) is None
    assert len(published.published()) > 800
