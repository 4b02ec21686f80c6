"""A signature is good for one text, one key and one purpose."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.classroom import signing
from grader.model import attempts
from grader.model.attempts import Attempt, Signed
from grader.model.errors import UsageError
from grader.model.results import parse_result

RESULT = parse_result((Path(__file__).parents[1] / "courses" / "result.json").read_bytes())


def attempt() -> Attempt:
    return Attempt(
        id=attempts.new_id(),
        course="small",
        version="1",
        student="ada",
        submitted_at="2026-11-20T10:00:00Z",
        result=RESULT,
    )


@pytest.fixture
def private() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


@pytest.fixture
def trusted(private: Ed25519PrivateKey) -> dict:
    public = private.public_key()
    return {signing.fingerprint(public): public}


def test_the_attempts_of_a_signed_run_are_opened_as_they_were(private, trusted):
    made = [attempt(), attempt()]
    signed = Signed.model_validate_json(attempts.attempt_json(signing.sign(made, private)))
    texts = signing.lines(signed, trusted)
    assert [Attempt.model_validate_json(text) for text in texts] == made


def test_a_changed_text_is_found(private, trusted):
    signed = signing.sign([attempt()], private)
    forged = signed.model_copy(update={"payload": signed.payload.replace('"ada"', '"bob"')})
    assert forged.payload != signed.payload
    with pytest.raises(signing.NotGenuine, match="was changed"):
        signing.lines(forged, trusted)


@pytest.mark.parametrize("signature", ["", "AAAA", "not base64 ☺", base64.b64encode(b"x" * 64)])
def test_a_signature_that_is_none_is_found(private, trusted, signature):
    text = signature if isinstance(signature, str) else signature.decode()
    signed = signing.sign([attempt()], private).model_copy(update={"signature": text})
    with pytest.raises(signing.NotGenuine, match="was changed"):
        signing.lines(signed, trusted)


def test_an_attempt_taken_out_of_a_run_is_found(private, trusted):
    signed = signing.sign([attempt(), attempt()], private)
    shorter = signed.model_copy(update={"payload": signed.payload.partition("\n")[0]})
    with pytest.raises(signing.NotGenuine, match="was changed"):
        signing.lines(shorter, trusted)


def test_another_key_is_not_trusted(trusted):
    signed = signing.sign([attempt()], Ed25519PrivateKey.generate())
    with pytest.raises(signing.NotGenuine, match=f"key '{signed.key}', which is not trusted"):
        signing.lines(signed, trusted)


def test_the_name_of_a_key_does_not_make_it_that_key(private, trusted):
    stranger = signing.sign([attempt()], Ed25519PrivateKey.generate())
    signed = stranger.model_copy(update={"key": signing.fingerprint(private.public_key())})
    with pytest.raises(signing.NotGenuine, match="was changed"):
        signing.lines(signed, trusted)


def test_a_signature_for_another_purpose_is_none_here(private, trusted):
    signed = signing.sign([attempt()], private)
    bare = base64.b64encode(private.sign(signed.payload.encode())).decode()
    with pytest.raises(signing.NotGenuine, match="was changed"):
        signing.lines(signed.model_copy(update={"signature": bare}), trusted)


def test_keys_go_to_files_and_back(tmp_path: Path):
    name = signing.new_key(tmp_path / "private.pem", tmp_path / "public.pem")
    assert stat.S_IMODE((tmp_path / "private.pem").stat().st_mode) == 0o600
    private = signing.private_key((tmp_path / "private.pem").read_bytes(), "private.pem")
    public = signing.public_key(tmp_path / "public.pem")
    assert signing.fingerprint(public) == name == signing.fingerprint(private.public_key())


def test_a_key_is_never_overwritten(tmp_path: Path, snapshot: SnapshotAssertion):
    files = tmp_path / "private.pem", tmp_path / "public.pem"
    signing.new_key(*files)
    before = files[0].read_bytes()
    with pytest.raises(UsageError) as caught:
        signing.new_key(*files)
    assert text_of(caught.value, tmp_path) == snapshot
    assert files[0].read_bytes() == before


def test_what_is_no_key_is_named(tmp_path: Path, snapshot: SnapshotAssertion):
    signing.new_key(tmp_path / "private.pem", tmp_path / "public.pem")
    with pytest.raises(UsageError) as caught:
        signing.public_key(tmp_path / "private.pem")
    assert text_of(caught.value, tmp_path) == snapshot
    with pytest.raises(UsageError) as caught:
        signing.public_key(tmp_path / "missing.pem")
    assert text_of(caught.value, tmp_path) == snapshot
    with pytest.raises(UsageError) as caught:
        signing.private_key((tmp_path / "public.pem").read_bytes(), "SECRET")
    assert text_of(caught.value, tmp_path) == snapshot
