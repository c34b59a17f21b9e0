"""Sizes of the jobs: defaults, the shipped file, and faults by name."""

from pathlib import Path

import pytest

from cluster.config import ClusterConfig, load_cluster_config
from nar.base.errors import ConfigError

SHIPPED = Path(__file__).parents[2] / "ray_config.yaml"


def written(directory: Path, text: str) -> Path:
    path = directory / "sizes.yaml"
    path.write_text(text)
    return path


def test_the_shipped_file_holds_the_defaults():
    assert load_cluster_config(SHIPPED) == ClusterConfig()


def test_without_a_file_the_defaults_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_cluster_config() == ClusterConfig()


def test_the_file_of_the_working_directory_is_read(tmp_path, monkeypatch):
    (tmp_path / "ray_config.yaml").write_text("extract: {shard_size: 7}")
    monkeypatch.chdir(tmp_path)
    assert load_cluster_config().extract.shard_size == 7


def test_a_value_left_out_keeps_its_default(tmp_path):
    config = load_cluster_config(written(tmp_path, "embed: {num_workers: 3}"))
    assert config.embed.num_workers == 3
    assert config.embed.limit_s == ClusterConfig().embed.limit_s


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("extract: {shard_sizes: 7}", "extract.shard_sizes"),
        ("extrakt: {}", "extrakt"),
        ("embed: {max_in_flight: 0}", "embed.max_in_flight"),
        ("pretrain: {num_workers: many}", "pretrain.num_workers"),
        ("embed: {num_workers: 0}", "embed.num_workers"),
        ("embed: {num_workers: {min: 3, max: 2}}", "wanted max of at least min, came 2 and 3"),
        ("extract: [", "no YAML"),
    ],
)
def test_a_fault_is_named(tmp_path, text, named):
    with pytest.raises(ConfigError, match=named):
        load_cluster_config(written(tmp_path, text))


def test_a_file_asked_for_must_be_there(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        load_cluster_config(tmp_path / "absent.yaml")


def test_what_was_read_is_said_and_what_was_not_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ray-config.yml").write_text("extract: {shard_size: 7}")
    (tmp_path / "nar.zoo.yaml").touch()
    load_cluster_config()
    said = capsys.readouterr().err
    assert f"sizes: defaults, for there is no ray_config.yaml in {tmp_path}" in said
    assert "; ray-config.yml lies there and was not read" in said
    (tmp_path / "ray_config.yaml").touch()
    load_cluster_config()
    assert capsys.readouterr().err == f"sizes: {tmp_path}/ray_config.yaml\n"
