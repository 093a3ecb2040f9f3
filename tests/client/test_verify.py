"""`verify` against what Leadwire signs and against another's signer, and against everybody who is neither."""

import json
import math
import time
from datetime import UTC, datetime

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from leadwire.delivery import signing
from leadwire.domain.webhooks.samples import NAMED_SAMPLES, SAMPLES
from leadwire.infrastructure import clock
from leadwire_client import InvalidSignature, Lead, LeadUpdated, StaleSignature, Unreadable, verify
from leadwire_client.events import DATA

NOW = 1_767_323_045
SECRET, NEXT, OTHER = (signing.new_secret() for _ in range(3))
DATA_SENT = SAMPLES | NAMED_SAMPLES
STAMP = "2026-01-02T03:04:05.678Z"


def _body(kind: str = "lead.created", data: object = None) -> bytes:
    return json.dumps({"event": kind, "timestamp": STAMP, "data": data or DATA_SENT[kind]}).encode()


def _signed(
    body: bytes, secret: str = SECRET, *, staged: str | None = None, test: bool = False, prefix: str = "X-Service-"
) -> dict[str, str]:
    return dict(
        signing.headers(
            event_id="evt_1", body=body, secret=secret, staged=staged, at=NOW, attempt=1, prefix=prefix, test=test
        )
    )


@pytest.mark.parametrize("kind", DATA)
def test_every_event_is_verified_and_read(kind):
    body = _body(kind)
    event = verify(body, _signed(body), SECRET, now=NOW)
    assert (event.kind, event.id, event.test) == (kind, "evt_1", False)
    assert event.timestamp == datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    assert type(event.data) is DATA[kind]


def test_what_the_data_says():
    body = _body("lead.updated")
    event = verify(body, _signed(body, test=True), SECRET, now=NOW)
    assert isinstance(event.data, LeadUpdated)
    assert isinstance(event.data, Lead)
    assert (event.data.email, event.data.previous_attributes) == ("ada@example.com", {"score": 40})
    assert event.test


@pytest.mark.parametrize("prefix", ["X-Service-", "X-Acme-", "Acme"])
def test_a_test_is_one_whatever_prefix_the_headers_have_and_no_header_of_others_makes_one(prefix):
    body, others = _body(), {"X-Stage-Signature": "x", "X-Stage-Test": "true", "Latest": "true"}
    assert verify(body, others | _signed(body, test=True, prefix=prefix), SECRET, now=NOW).test
    assert not verify(body, others | _signed(body, prefix=prefix), SECRET, now=NOW).test
    headers = {name: value for name, value in _signed(body, test=True).items() if not name.endswith("-Signature")}
    assert verify(body, headers, SECRET, now=NOW).test


def test_a_lead_of_before_updated_at_was_last_changed_when_it_was_created():
    body = _body(
        "lead.created", {name: value for name, value in SAMPLES["lead.created"].items() if name != "updated_at"}
    )
    event = verify(body, _signed(body), SECRET, now=NOW)
    assert isinstance(event.data, Lead)
    assert event.data.updated_at == event.data.created_at


def test_a_kind_of_tomorrow_is_read_as_json():
    body = _body("lead.merged", {"id": "lead_1", "into": "lead_2"})
    assert verify(body, _signed(body), SECRET, now=NOW).data == {"id": "lead_1", "into": "lead_2"}


def test_a_field_of_tomorrow_is_ignored():
    body = _body("lead.deleted", {"id": "lead_1", "deleted": True, "by": "api"})
    assert verify(body, _signed(body), SECRET, now=NOW).kind == "lead.deleted"


def test_a_signer_of_others_is_believed():
    body, at = _body(), clock.now()
    headers = {
        "Webhook-Id": "msg_1",
        "WEBHOOK-TIMESTAMP": str(int(at.timestamp())),
        "webhook-signature": standardwebhooks.Webhook(SECRET).sign("msg_1", at, body.decode()),
    }
    assert verify(body, headers, SECRET).id == "msg_1"


def test_a_secret_is_replaced_without_a_gap():
    body = _body()
    before, staged, promoted = _signed(body), _signed(body, staged=NEXT), _signed(body, NEXT)
    for headers, accepted in ((before, [SECRET]), (staged, [SECRET, NEXT]), (promoted, [NEXT])):
        for secret in (SECRET, NEXT, OTHER):
            if secret in accepted:
                verify(body, headers, secret, now=NOW)
            else:
                with pytest.raises(InvalidSignature, match="does not match"):
                    verify(body, headers, secret, now=NOW)
        for both in ([SECRET, NEXT], (NEXT, SECRET)):
            verify(body, headers, both, now=NOW)


@pytest.mark.parametrize("offset", [-301, 301, 10**9])
def test_a_recording_is_stale(offset):
    body = _body()
    with pytest.raises(StaleSignature):
        verify(body, _signed(body), SECRET, now=NOW + offset)
    verify(body, _signed(body), SECRET, now=NOW + offset, tolerance=math.inf)


def test_a_clock_may_be_a_little_wrong():
    body = _body()
    for offset in (-300, 300):
        verify(body, _signed(body), SECRET, now=NOW + offset)
    with pytest.raises(StaleSignature):
        verify(body, _signed(body), SECRET)
    assert time.time() > NOW + 300


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize(
    "value", [None, "", "x", "1767323046", "v1,", "v1,é", "\udcff", "9" * 5000, "\u0661"], ids=ascii
)
def test_a_header_that_is_missing_or_changed_is_refused(name, value):
    body = _body()
    headers = _signed(body)
    if value is None:
        del headers[name]
    else:
        headers[name] = value
    with pytest.raises(InvalidSignature) as refused:
        verify(body, headers, SECRET, now=NOW)
    assert not isinstance(refused.value, StaleSignature)
    if not value:
        assert str(refused.value) == f"{name} is missing"


@given(at=st.integers(0, len(_body()) - 1), to=st.integers(0, 255))
def test_a_body_that_is_changed_anywhere_is_refused(at, to):
    body = _body()
    changed = body[:at] + bytes([to]) + body[at + 1 :]
    if changed != body:
        with pytest.raises(InvalidSignature):
            verify(changed, _signed(body), SECRET, now=NOW)


@given(signatures=st.text(max_size=200))
def test_no_other_text_is_a_signature(signatures):
    body = _body()
    with pytest.raises(InvalidSignature):
        verify(body, {**_signed(body), "webhook-signature": signatures}, SECRET, now=NOW)


def test_a_signature_counts_among_those_of_other_schemes():
    body = _body()
    signature = _signed(body)["webhook-signature"]
    for several in (f"v1a,xxx {signature}", f"{signature} v2,yyy", f"v1,AAAA {signature} v1,BBBB"):
        verify(body, {**_signed(body), "webhook-signature": several}, SECRET, now=NOW)
    for none in (signature.replace("v1,", "v2,"), signature.replace("v1,", ""), f"{signature},x"):
        with pytest.raises(InvalidSignature):
            verify(body, {**_signed(body), "webhook-signature": none}, SECRET, now=NOW)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b'{"event": 1}', _body("lead.created", {"id": 1}), _body("new.kind", [1])]
)
def test_a_signed_body_that_is_no_event_is_unreadable(body):
    with pytest.raises(Unreadable, match="no event"):
        verify(body, _signed(body), SECRET, now=NOW)


@pytest.mark.parametrize("secret", ["", "whsec_", "secret", "whsec_AAAA", "whsec_é" + "A" * 43, [], [SECRET, ""]])
def test_what_cannot_be_a_secret_is_said_without_repeating_it(secret):
    body = _body()
    with pytest.raises(ValueError, match="secret") as refused:
        verify(body, _signed(body), secret, now=NOW)
    assert "AAAA" not in str(refused.value)


@pytest.mark.parametrize("body", ["{}", {"event": "lead.created"}, bytearray(b"{}"), None], ids=repr)
def test_only_the_bytes_as_received_can_be_verified(body):
    with pytest.raises(TypeError, match="bytes"):
        verify(body, {}, SECRET)
