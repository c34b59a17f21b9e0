"""Settings that are not right: each fault is named, with what was wanted, and no token is shown."""

import pytest

from nar.base.errors import ConfigError
from nar.config import load_config


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "server: {max_in_fligth: 3}",
            "server.max_in_fligth: no such setting; did you mean max_in_flight?",
        ),
        ("servr: {}", "servr: no such setting; did you mean server?"),
        (
            "server: {tls: {certificate_file: a, key_file: b, x: c}}",
            "server.tls.x: no such setting; there are certificate_file, key_file, client_ca_file",
        ),
        ("pretraining: {lerned_dim: 1}", "did you mean learned_dim?"),
        ("pretraining: {encoder: paper, dimm: 1}", "pretraining.dimm: no such setting"),
        ("server: {port: 70000}", "server.port: Input should be .* 65535, came 70000"),
        ("client: [1]", "client: Input should be a valid dictionary"),
        ("- server", "the whole: Input should be a valid dictionary"),
    ],
)
def test_a_fault_is_named_with_what_was_wanted(written, said, tmp_path):
    with pytest.raises(ConfigError, match=said.replace("?", r"\?")) as caught:
        load_config(file_of(written, tmp_path))
    assert "pydantic" not in str(caught.value)


def test_every_fault_is_named_in_a_line(tmp_path):
    path = file_of("{server: {port: -1, prot: 3}, index: {batch_rows: 0}}", tmp_path)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    places = [line.partition(": ")[0] for line in str(caught.value).splitlines()[1:]]
    assert sorted(places) == ["index.batch_rows", "server.port", "server.prot"]


@pytest.mark.parametrize("part", ["server", "index"])
@pytest.mark.parametrize("token", ["[hush]", "123456789"])
def test_no_token_is_shown(part, token, tmp_path):
    path = file_of(f"{part}: {{token: {token}, tokens: hush}}", tmp_path)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    said = str(caught.value).partition("\n")[2]
    assert f"{part}.t" in said
    assert "hush" not in said
    assert "123456789" not in said


def file_of(text, directory):
    path = directory / "nar.yaml"
    path.write_text(text)
    return path
