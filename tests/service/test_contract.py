"""Random calls made from our own OpenAPI: none may end in a 5xx, and every answer keeps to what the schema says."""

from __future__ import annotations

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from tests.service.running import Running

EXAMPLES = int(os.environ.get("GRADER_FUZZ_EXAMPLES", "40"))
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance)
CALLS = [
    ("/api/v1/problems/{slug}", "GET"),
    ("/api/v1/submissions", "POST"),
    ("/api/v1/submissions", "GET"),
    ("/api/v1/submissions/{submission_id}", "GET"),
    ("/api/v1/submissions/{submission_id}", "DELETE"),
    ("/api/v1/submissions/{submission_id}/events", "GET"),
]


@pytest.mark.parametrize(("path", "method"), CALLS)
def test_fuzz_of_our_own_openapi(running: Running, path: str, method: str) -> None:
    """Whatever the schema allows, and much that it does not, gets an answer that the schema names."""
    schema = schemathesis.openapi.from_url(running.address + "/openapi.json")
    operation = schema[path][method]
    modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(*[operation.as_strategy(generation_mode=mode) for mode in modes]))
    def calls(case: schemathesis.Case) -> None:
        case.query = {name: value for name, value in (case.query or {}).items() if name != "wait"}
        case.headers = {name: value for name, value in (case.headers or {}).items() if name.lower() != "prefer"}
        case.call_and_validate(base_url=running.address, checks=CHECKS, timeout=20)

    calls()
