import logging
import pickle

import grpc
import pytest
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, RequestInfo, RetryInfo
from google.rpc.status_pb2 import Status

from nar.base.errors import (
    IndexMismatchError,
    IndexUnavailableError,
    InvalidGraphError,
    InvalidQueryError,
    UnknownArchitectureError,
)
from nar.client.remote import ServiceError, error_of_status
from nar.serve.status import (
    ExpiredError,
    OverloadedError,
    UnauthenticatedError,
    code_name,
    status_of,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidQueryError("top_k", "too many"), "INVALID_ARGUMENT"),
        (InvalidGraphError("nodes", "none"), "INVALID_ARGUMENT"),
        (DecodeError("junk"), "INVALID_ARGUMENT"),
        (UnknownArchitectureError("no timm:x"), "NOT_FOUND"),
        (UnauthenticatedError("no token"), "UNAUTHENTICATED"),
        (OverloadedError("full"), "RESOURCE_EXHAUSTED"),
        (ExpiredError("late"), "DEADLINE_EXCEEDED"),
        (IndexUnavailableError("gone"), "UNAVAILABLE"),
        (IndexMismatchError("other encoder"), "FAILED_PRECONDITION"),
        (ZeroDivisionError("secret"), "INTERNAL"),
    ],
)
def test_code(error, code):
    assert code_name(status_of(error)) == code


def test_bad_request_names_the_field():
    status = status_of(InvalidGraphError("queries[3].graph.edge_index[7]", "node 12 of 9"))
    assert detail(status, BadRequest) == BadRequest(
        field_violations=[
            BadRequest.FieldViolation(
                field="queries[3].graph.edge_index[7]", description="node 12 of 9"
            )
        ]
    )


@pytest.mark.parametrize("error", [OverloadedError("full"), IndexUnavailableError("gone")])
def test_retry_info_says_when(error):
    assert detail(status_of(error), RetryInfo).retry_delay.seconds == 1


def test_internal_error_gives_an_id_that_the_log_has_and_nothing_else(caplog):
    status = status_of(ZeroDivisionError("secret"))
    request_id = detail(status, RequestInfo).request_id
    assert "secret" not in status.message
    assert request_id in status.message
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert request_id in record.message
    assert "secret" in caplog.text


def test_the_address_of_a_dead_index_stays_in_the_log(caplog):
    status = status_of(IndexUnavailableError("http://10.0.0.7:19530 refused"))
    assert "10.0.0.7" not in status.message
    assert "10.0.0.7" in caplog.text


def test_a_long_reason_is_cut():
    status = status_of(InvalidGraphError("edge_index", " -> ".join(map(str, range(50_000)))))
    assert status.ByteSize() < 2_000


def test_a_client_gets_the_same_error_back():
    error = error_of_status(status_of(InvalidGraphError("queries[0].graph.nodes", "none")))
    assert isinstance(error, InvalidQueryError)
    assert (error.field, error.reason) == ("queries[0].graph.nodes", "none")
    assert isinstance(error_of_status(status_of(IndexUnavailableError("x"))), IndexUnavailableError)
    assert str(error_of_status(status_of(UnknownArchitectureError("no timm:x")))) == "no timm:x"


def test_other_codes_become_service_errors():
    error = error_of_status(status_of(OverloadedError("full")))
    assert isinstance(error, ServiceError)
    assert (error.code, error.reason, error.retry_after_s) == ("RESOURCE_EXHAUSTED", "full", 1.0)


def test_a_bare_or_foreign_status_is_an_error_too():
    bare = Status(code=grpc.StatusCode.INVALID_ARGUMENT.value[0], message="odd")
    assert str(error_of_status(bare)) == "INVALID_ARGUMENT: odd"
    assert str(error_of_status(Status(code=999, message="odder"))) == "UNKNOWN: odder"


def test_a_service_error_says_what_the_log_calls_it():
    full = status_of(OverloadedError("full"))
    assert str(error_of_status(full)) == "RESOURCE_EXHAUSTED: full"
    named = error_of_status(full, "mine-7")
    assert named.request_id == "mine-7"
    assert str(named) == "RESOURCE_EXHAUSTED: full (request mine-7)"
    assert str(named.with_way_out("wait")) == "RESOURCE_EXHAUSTED: full: wait (request mine-7)"
    fault = error_of_status(status_of(ZeroDivisionError(), "of-the-item"))
    assert fault.request_id == "of-the-item"
    assert str(fault).count("of-the-item") == 1


def test_service_error_crosses_processes():
    error = pickle.loads(pickle.dumps(ServiceError("INTERNAL", "id 7", 0.5, "mine-7")))
    assert (error.code, error.reason, error.retry_after_s) == ("INTERNAL", "id 7", 0.5)
    assert error.request_id == "mine-7"
    assert str(error) == "INTERNAL: id 7 (request mine-7)"


def detail(status, kind):
    message = kind()
    (packed,) = status.details
    assert packed.Unpack(message)
    return message
