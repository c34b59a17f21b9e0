"""What stands beside the code for strangers: the citation, the licences, forms, releases."""

import json
import re
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from test_extras import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FORMS = sorted(
    path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"
)


def workflow(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())


def commands(job):
    return [step["run"] for step in job["steps"] if "run" in step]


def test_the_citation_names_the_version_and_the_licence_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["preferred-citation"]["title"] == "Neural Architecture Retrieval"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_under_names_of_its_own(path):
    form = yaml.safe_load(path.read_text())
    names = [field["id"] for field in form["body"]]
    assert form["name"]
    assert form["description"]
    assert len(set(names)) == len(names) > 0


def test_hosted_tests_are_those_of_a_desk():
    jobs = workflow("test")["jobs"]
    assert commands(jobs["test"]) == ["make test"]
    assert jobs["without_kernel"]["env"] == {"NAR_KERNEL": "off"}


def test_the_versions_that_are_tried_are_those_of_a_desk():
    job = workflow("matrix")["jobs"]["light_core"]
    wanted = re.search(r"^MATRIX +\?= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
    assert job["strategy"]["matrix"]["row"] == wanted
    assert commands(job) == ['make matrix MATRIX="${{ matrix.row }}"']
    versions = [row.partition(":")[0] for row in wanted]
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if ":: 3." in each]
    assert versions == named
    # The oldest Python is tried with the lowest versions, which are what it states.
    assert f">={versions[0]}" == PROJECT["requires-python"]


def test_the_extras_that_are_tried_alone_are_those_of_a_desk():
    job = workflow("matrix")["jobs"]["extras"]
    wanted = re.search(r"^EXTRAS +\?= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
    assert job["strategy"]["matrix"]["extra"] == wanted == sorted(EXTRAS)
    assert commands(job) == ['make extras EXTRAS="${{ matrix.extra }}"']


def test_only_the_job_that_publishes_may_speak_for_the_project():
    release = workflow("release")
    assert release["permissions"] == {"contents": "read"}
    publishing = [name for name, job in release["jobs"].items() if "permissions" in job]
    assert publishing == ["publish"]
    assert commands(release["jobs"]["publish"]) == []


def test_the_notice_names_what_the_published_figures_come_from():
    schema = pq.read_schema(ROOT / "nar" / "data" / "published.parquet")
    source = json.loads(schema.metadata[b"nar.published"])["source"]
    repository, _, commit, date = source.split(", ")
    notice = (ROOT / "NOTICE").read_text()
    assert repository in notice
    assert f"{commit} of {date}" in notice
