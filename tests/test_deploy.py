"""The image and the manifests: they parse, agree with each other, and name what exists."""

import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path

import grpc
import pytest
import typer
import yaml
from authority import Authority
from grpc_health.v1 import health, health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckResponse
from jsonschema import Draft202012Validator

from cluster.config import load_cluster_config
from nar.config import load_config
from nar.serve.calls import SERVICE
from nar.wire.settings import ServerConfig

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "requirements.lock").read_text(), re.M))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
DOCUMENTS = [
    (path.name, document)
    for path in sorted([*DEPLOY.glob("*.yaml"), *DEPLOY.glob("*.yml")])
    for document in yaml.safe_load_all(path.read_text())
]
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
KINDS = {document["kind"]: document for _, document in DOCUMENTS if "kind" in document}
POD = KINDS["Deployment"]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
SERVER = (DEPLOY / "server.yaml").read_text()


def values(node: object, key: str) -> list[object]:
    """Every value of a key, however deep."""
    if isinstance(node, list):
        return [value for item in node for value in values(item, key)]
    if not isinstance(node, dict):
        return []
    here = [node[key]] if key in node else []
    return here + [value for item in node.values() for value in values(item, key)]


def commands() -> list[tuple[str, ...]]:
    """Every command of ours in a manifest or a comment above it, as words."""
    texts = [path.read_text() for path in DEPLOY.iterdir() if path.suffix in {".yaml", ".yml"}]
    job = r"(?:python -m|run --rm job) (nar\.cluster\.\w+[^;`\"\n]*)"
    tool = r"(nar (?:serve|search) [^;\"\n]+)"
    lines = [line for text in texts for form in (job, tool) for line in re.findall(form, text)]
    services = COMPOSE["services"]
    lists = [["nar", *services["server"]["command"]], ["nar", *CONTAINER["args"]]]
    words = [*map(shlex.split, lines), *lists, services["job"]["command"]]
    return sorted(set(map(tuple, words)))


def options_of(program: str, arguments: list[str]) -> set[str]:
    """The options that a command of ours takes, after its subcommand if it has one."""
    # The image has what a wheel has: the jobs are below `nar` there.
    path = "nar.cli.app" if program == "nar" else program.removeprefix("nar.")
    module = importlib.import_module(path)
    command = typer.main.get_command(module.app)
    if program == "nar":
        command = command.commands[arguments[0]]
    return {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_commands_and_their_options_exist(command):
    program, *arguments = command
    asked = {word for word in arguments if word.startswith("--")}
    assert asked - options_of(program, arguments) == set()


def test_commands_were_found_everywhere():
    programs = {command[0] for command in commands()}
    jobs = {f"nar.cluster.{name}" for name in ("extract", "pretrain", "embed")}
    assert programs == {"nar"} | jobs


def test_every_manifest_has_content():
    assert [name for name, document in DOCUMENTS if not document] == []
    assert {"RayCluster", "RayJob", "Deployment", "Service", "PersistentVolumeClaim"} < set(KINDS)


# What KubeRay makes something of, and each cluster in it.
OF_KUBERAY = [(name, each) for name, each in DOCUMENTS if each.get("apiVersion") == "ray.io/v1"]
SCHEMAS = json.loads((Path(__file__).parent / "kuberay.json").read_text())


def clusters() -> list[dict[str, object]]:
    nested = [each for _, document in OF_KUBERAY for each in values(document, "rayClusterSpec")]
    return [KINDS["RayCluster"]["spec"], *nested]


@pytest.mark.parametrize(("name", "document"), OF_KUBERAY, ids=[name for name, _ in OF_KUBERAY])
def test_kuberay_knows_every_field(name, document):
    schema = {"$defs": SCHEMAS["$defs"], "$ref": f"#/$defs/{document['kind']}"}
    faults = [
        f"{each.json_path}: {each.message}"
        for each in Draft202012Validator(schema).iter_errors(document)
    ]
    assert faults == []


def test_the_schemas_of_kuberay_refuse_a_field_that_is_misspelt():
    job = deepcopy(KINDS["RayCronJob"])
    job["spec"]["jobTemplate"]["backofLimit"] = job["spec"]["jobTemplate"].pop("backoffLimit")
    schema = {"$defs": SCHEMAS["$defs"], "$ref": "#/$defs/RayCronJob"}
    assert "backofLimit" in str(next(Draft202012Validator(schema).iter_errors(job)))


def test_jobs_are_tried_again_where_kuberay_can():
    jobs = [document["spec"] for _, document in OF_KUBERAY if document["kind"] == "RayJob"]
    jobs.append(KINDS["RayCronJob"]["spec"]["jobTemplate"])
    of_their_own = [job for job in jobs if "rayClusterSpec" in job]
    # KubeRay refuses tries and suspension of a job on a cluster that others use.
    shared = [job for job in jobs if "clusterSelector" in job]
    assert shared != []
    assert all(job.keys().isdisjoint({"backoffLimit", "suspend"}) for job in shared)
    assert len(of_their_own) == 2
    assert all(job["backoffLimit"] == 3 for job in of_their_own)
    assert all(job["shutdownAfterJobFinishes"] for job in of_their_own)


def test_ray_is_the_one_of_the_lock():
    assert {version for _, each in OF_KUBERAY for version in values(each, "rayVersion")} == {
        LOCK["ray"]
    }


@pytest.mark.parametrize("spec", clusters())
def test_ray_asks_for_a_token_and_leaves_its_head_free(spec):
    assert spec["authOptions"] == {"mode": "token"}
    assert spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


@pytest.mark.parametrize("spec", clusters())
def test_pods_of_ray_may_do_as_little_as_the_server_and_have_room_for_what_they_spool(spec):
    pods = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    for pod in (each["template"]["spec"] for each in pods):
        [container] = pod["containers"]
        assert pod["securityContext"] == POD["securityContext"]
        assert container["securityContext"] == CONTAINER["securityContext"]
        places = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
        assert places.keys() >= {"/tmp", "/scratch", "/dev/shm", "/data", "/etc/nar"}
        volumes = {each["name"]: each for each in pod["volumes"]}
        assert set(places.values()) == volumes.keys()
        assert volumes["shm"]["emptyDir"]["medium"] == "Memory"
        told = {each["name"]: each["value"] for each in container["env"]}
        assert (told["RAY_TMPDIR"], told["TMPDIR"]) == ("/tmp", "/scratch")


@pytest.mark.parametrize("spec", clusters())
def test_nodes_that_may_be_taken_away_come_and_go(spec):
    assert spec["enableInTreeAutoscaling"]
    [spot] = [each for each in spec["workerGroupSpecs"] if each["groupName"] == "spot"]
    assert (spot["minReplicas"], spot["template"]["spec"]["tolerations"] != []) == (0, True)


def test_the_sizes_of_the_jobs_are_valid_and_ask_an_autoscaler():
    sizes = load_cluster_config(DEPLOY / "ray_config.yaml")
    assert sizes.embed.num_workers == sizes.extract.num_workers
    assert "max" in str(sizes.embed.num_workers)


def test_the_job_runs_on_the_cluster_beside_it():
    selected = KINDS["RayJob"]["spec"]["clusterSelector"]["ray.io/cluster"]
    assert selected == KINDS["RayCluster"]["metadata"]["name"]


def test_images_are_pinned_and_ours_is_of_this_version():
    images = {image for _, document in DOCUMENTS for image in values(document, "image")}
    assert {image for image in images if image.startswith("nar:")} == {f"nar:{PROJECT['version']}"}
    bases = set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.M))
    assert [image for image in images | bases if not re.search(r":v?\d+\.\d+\.\d+", image)] == []


def test_the_image_runs_as_a_user_of_its_own():
    *_, user = re.findall(r"^USER (\S+)", DOCKERFILE, re.M)
    assert f"--uid 1000 --create-home {user}" in DOCKERFILE
    others = {"redis.yaml"}  # Redis has a user of its own in its image
    of_ours = [document for name, document in DOCUMENTS if name not in others]
    assert {1000} == {uid for document in of_ours for uid in values(document, "runAsUser")}


def test_what_the_image_copies_exists_and_is_sent():
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M)
    names = [name for line in copied for name in line.split()]
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert {"nar", "cluster", "ray_config.yaml"} < set(names)
    sent = re.findall(r"^!(.+)$", (DEPLOY / "Dockerfile.dockerignore").read_text(), re.M)
    assert sorted(sent) == sorted(set(names))


OWN = (DEPLOY / "Dockerfile.own").read_text()


def test_an_image_of_ones_own_goes_on_as_the_base_does():
    """What a linter of Dockerfiles would say, of the few lines that there are."""
    instructions = re.findall(r"^([A-Z]+) (.+)$", OWN, re.M)
    base = re.search(r"-t (nar:\S+)", DOCKERFILE)[1]
    assert instructions[:2] == [("ARG", f"BASE={base}"), ("FROM", "${BASE}")]
    assert [user for word, user in instructions if word == "USER"] == ["root", "nar"]
    assert [place for word, place in instructions if word == "WORKDIR"][-1] == "/app"
    assert "--no-cache-dir -c /app/requirements.lock" in OWN
    assert re.search(r"^COPY .*requirements.lock /app/$", DOCKERFILE, re.M)


HADOLINT = shutil.which("hadolint")


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.own"])
def test_hadolint_finds_nothing(name):
    # Debian's own packages are those of the base's release, and have no versions to pin.
    done = subprocess.run(
        [HADOLINT, "--ignore", "DL3008", str(DEPLOY / name)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_a_night_runs_on_the_cluster_and_keeps_others_out():
    night = KINDS["CronJob"]["spec"]
    assert night["concurrencyPolicy"] == "Forbid"
    pod = night["jobTemplate"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    cluster = KINDS["RayCluster"]["metadata"]["name"]
    assert f"http://{cluster}-head-svc:8265" in container["command"]
    # An alert on a night without success waits longer than from one night to the next.
    [late] = [
        rule["expr"]
        for group in yaml.safe_load((DEPLOY / "rules.yml").read_text())["groups"]
        for rule in group["rules"]
        if rule.get("alert") == "NarJobLate"
    ]
    assert re.fullmatch(r"\d+ 1 \* \* \*", night["schedule"])
    assert int(re.search(r"> (\d+) \* 3600", late)[1]) > 24
    image = KINDS["RayJob"]["spec"]["submitterPodTemplate"]["spec"]["containers"][0]["image"]
    assert container["image"] == image


def test_what_the_library_reads_beside_its_code_is_installed_with_it():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    installed = {path for glob in tool["package-data"]["nar"] for path in (ROOT / "nar").glob(glob)}
    read = {path for path in (ROOT / "nar").rglob("*") if path.is_file()}
    assert {path.name for path in read - installed if path.suffix[:3] != ".py"} == set()


def test_ports_agree_with_the_defaults_of_the_server():
    ours = {ServerConfig().port, ServerConfig().metrics_port}
    assert {port["containerPort"] for port in CONTAINER["ports"]} == ours
    assert {port["port"] for port in KINDS["Service"]["spec"]["ports"]} == ours
    assert set(map(int, re.search(r"^EXPOSE (.+)$", DOCKERFILE, re.M)[1].split())) == ours
    scraped = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    asked = [ServerConfig().metrics_port, ServerConfig().port]
    server, jobs, probed = values(scraped, "targets")
    assert [server, probed] == [[f"server:{port}"] for port in asked]
    assert jobs[0].partition(":")[0] in COMPOSE["services"]


def test_what_jobs_keep_is_shown_to_prometheus():
    shown = COMPOSE["services"]["jobs"]
    [place] = [each for each in shown["command"] if "directory" in each]
    assert place.endswith("=/data/metrics")
    assert shown["volumes"] == ["data:/data:ro"]
    assert COMPOSE["services"]["job"]["command"][1:3] == ["--work", "/data"]


def test_the_probe_from_outside_asks_for_the_service_of_the_contract():
    probing = yaml.safe_load(COMPOSE["configs"]["blackbox"]["content"])["modules"]["nar"]
    assert (probing["prober"], probing["grpc"]["service"]) == ("grpc", SERVICE)
    scraped = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    [job] = [each for each in scraped["scrape_configs"] if each["job_name"] == "nar-probe"]
    assert job["params"] == {"module": ["nar"]}
    addresses = [each["replacement"] for each in job["relabel_configs"] if "replacement" in each]
    assert [each.partition(":")[0] in COMPOSE["services"] for each in addresses] == [True]


def test_compose_publishes_on_loopback_only():
    ports = [port for ports in values(COMPOSE, "ports") for port in ports]
    assert len(ports) == 4
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_what_compose_mounts_exists():
    mounts = [
        mount.split(":")[0] for mounts in values(COMPOSE["services"], "volumes") for mount in mounts
    ]
    files = [mount for mount in mounts if mount.startswith(".")]
    assert [file for file in files if not (DEPLOY / file).is_file()] == []
    assert {mount for mount in mounts if not mount.startswith(".")} == set(COMPOSE["volumes"])


def test_kustomize_names_files_that_exist():
    kustomization = KINDS["Kustomization"]
    (files,) = values(kustomization["configMapGenerator"], "files")
    names = kustomization["resources"] + [file.rpartition("=")[2] for file in files]
    assert [name for name in names if not (DEPLOY / name).is_file()] == []
    mounted = {file.partition("=")[0] for file in files}
    jobs = [word for command in commands() for word in command]
    words = [*CONTAINER["args"], *probe("readiness"), *jobs]
    used = {word.partition("/etc/nar/")[2] for word in words}
    assert used - {""} == mounted


def probe(kind):
    return CONTAINER[f"{kind}Probe"]["exec"]["command"]


def test_the_settings_of_the_containers_are_valid():
    config = load_config(DEPLOY / "nar.yaml")
    assert config.index.uri.split("//")[1].split(":")[0] in COMPOSE["services"]
    assert load_config(DEPLOY / "nar-tls.yaml").index == config.index


def test_kubernetes_encrypts_with_what_the_secret_holds():
    server = load_config(DEPLOY / "nar-tls.yaml").server
    assert not server.clear_text
    mounts = {mount["name"]: mount for mount in CONTAINER["volumeMounts"]}
    folder = Path(mounts["tls"]["mountPath"])
    files = [server.tls.certificate_file, server.tls.key_file]
    assert files == [folder / "tls.crt", folder / "tls.key"]
    assert probe("readiness")[3:] == [str(folder / "ca.crt"), KINDS["Service"]["metadata"]["name"]]
    assert probe("startup") == probe("readiness")
    (volume,) = [each["secret"] for each in POD["volumes"] if each["name"] == "tls"]
    # A file mounted by its own path would never change.
    assert "subPath" not in mounts["tls"]
    assert f"kubectl create secret generic {volume['secretName']} " in SERVER


def test_the_server_may_change_nothing_but_its_scratch():
    security = CONTAINER["securityContext"]
    assert security["readOnlyRootFilesystem"]
    assert not security["allowPrivilegeEscalation"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert POD["securityContext"]["runAsNonRoot"]
    assert not POD["automountServiceAccountToken"]
    writable = [mount for mount in CONTAINER["volumeMounts"] if not mount.get("readOnly")]
    assert [mount["mountPath"] for mount in writable] == ["/tmp"]


def test_a_core_for_every_thread():
    threads = ServerConfig().compute_threads + ServerConfig().heavy_threads
    assert int(CONTAINER["resources"]["limits"]["cpu"]) >= threads


def network_policy(name: str) -> dict:
    return next(
        document["spec"]
        for _, document in DOCUMENTS
        if document.get("kind") == "NetworkPolicy" and document["metadata"]["name"] == name
    )


def test_the_network_policy_is_about_the_ports_of_the_server():
    policy = network_policy("nar-server")
    labels = KINDS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    reached = [port["port"] for ports in values(policy["ingress"], "ports") for port in ports]
    assert reached == [port["name"] for port in CONTAINER["ports"]]
    milvus = load_config(DEPLOY / "nar-tls.yaml").index.uri.rpartition(":")[2]
    asked = {port["port"] for ports in values(policy["egress"], "ports") for port in ports}
    assert asked == {int(milvus), 53}


def test_only_the_ray_cluster_reaches_what_keeps_its_tables():
    policy = network_policy("nar-redis")
    redis = next(
        document["spec"]["template"]
        for name, document in DOCUMENTS
        if name == "redis.yaml" and document["kind"] == "Deployment"
    )
    assert policy["podSelector"]["matchLabels"] == redis["metadata"]["labels"]
    [rule] = policy["ingress"]
    cluster = KINDS["RayCluster"]["metadata"]["name"]
    assert rule["from"] == [{"podSelector": {"matchLabels": {"ray.io/cluster": cluster}}}]
    [port] = redis["spec"]["containers"][0]["ports"]
    assert [each["port"] for each in rule["ports"]] == [port["name"]]
    assert policy["egress"] == []


def test_a_drained_node_leaves_a_server():
    budget, deployment = KINDS["PodDisruptionBudget"]["spec"], KINDS["Deployment"]["spec"]
    assert budget["selector"] == deployment["selector"]
    assert 1 <= budget["minAvailable"] < deployment["replicas"]


def test_calls_under_way_are_given_the_time_to_end():
    pause_s = int(CONTAINER["lifecycle"]["preStop"]["exec"]["command"][1])
    drain_s = ServerConfig().drain_grace_s
    assert POD["terminationGracePeriodSeconds"] > pause_s + drain_s
    assert int(COMPOSE["services"]["server"]["stop_grace_period"].removesuffix("s")) > drain_s


def test_no_secret_is_written_down():
    texts = [path.read_text() for path in DEPLOY.iterdir() if path.is_file()]
    assert (
        re.findall(r"(?i)(?:password|secret_key|token)[ \t]*[:=][ \t]*[\"']?\w{8,}", "".join(texts))
        == []
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "code"), [(HealthCheckResponse.SERVING, 0), (HealthCheckResponse.NOT_SERVING, 1)]
)
def test_the_health_check_of_compose_tells_ready_from_not(status, code):
    *_, program = COMPOSE["services"]["server"]["healthcheck"]["test"]
    server = grpc.server(ThreadPoolExecutor(1))
    servicer = health.HealthServicer()
    servicer.set("", status)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    here = program.replace(str(ServerConfig().port), str(port))
    assert subprocess.run([sys.executable, "-c", here]).returncode == code
    server.stop(None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "code"), [(HealthCheckResponse.SERVING, 0), (HealthCheckResponse.NOT_SERVING, 1)]
)
def test_the_probe_of_kubernetes_tells_ready_from_not_over_tls(tmp_path, status, code):
    authority = Authority(tmp_path, "authority")
    name = KINDS["Service"]["metadata"]["name"]
    certificate, key = authority.issue("server", names=[name])
    server = grpc.server(ThreadPoolExecutor(1))
    servicer = health.HealthServicer()
    servicer.set("", status)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    pair = (key.read_bytes(), certificate.read_bytes())
    own = authority.file.read_bytes()
    doors = (
        grpc.ssl_server_credentials([pair]),
        grpc.ssl_server_credentials([pair], own, require_client_auth=True),
    )
    ports = [server.add_secure_port("127.0.0.1:0", door) for door in doors]
    server.start()

    def probed(port, trusted, *shown):
        program = [sys.executable, str(DEPLOY / "probe.py"), f"127.0.0.1:{port}"]
        return subprocess.run([*program, str(trusted.file), name, *map(str, shown)]).returncode

    plain, asking = ports
    assert probed(plain, authority) == code
    assert probed(plain, Authority(tmp_path, "stranger")) == 1
    assert probed(asking, authority) == 1
    assert probed(asking, authority, *authority.issue("probe")) == code
    server.stop(None)


@pytest.mark.slow
def test_the_probe_of_kubernetes_says_how_it_is_asked():
    program = [sys.executable, str(DEPLOY / "probe.py")]
    for arguments in (["--help"], [], ["127.0.0.1:1", "ca.crt"]):
        ended = subprocess.run([*program, *arguments], capture_output=True, text=True)
        assert ended.returncode == 1
        assert "python probe.py 127.0.0.1:50051" in ended.stderr
