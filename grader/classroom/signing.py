"""Ed25519 signatures on attempts: they prove who made a result, and that nobody changed it.

The private key stays with the instructor's machine and signs after a check is over: no process that
reads a kernel file ever holds it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from grader.model import Attempt, Signed, UsageError, attempt_json, create_file

# Begins each signed text: a signature that was made for another purpose is invalid here.
PURPOSE = b"grader/signed/v1\n"


class NotGenuine(Exception):
    """A signed attempt that cannot be trusted; `str(error)` is the reason."""


def message(payload: str) -> bytes:
    return PURPOSE + payload.encode("utf-8", "surrogatepass")


def fingerprint(public: Ed25519PublicKey) -> str:
    # 64 bits: enough to tell the keys of a course apart.
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:16]


def sign(attempts: Sequence[Attempt], private: Ed25519PrivateKey) -> Signed:
    payload = "\n".join(map(attempt_json, attempts))
    return Signed(
        key=fingerprint(private.public_key()),
        signature=base64.b64encode(private.sign(message(payload))).decode(),
        payload=payload,
    )


def lines(signed: Signed, trusted: Mapping[str, Ed25519PublicKey]) -> list[bytes]:
    """Verify the signature and return the signed attempts, each as the text that was signed.

    `trusted` are public keys by fingerprint. Raises NotGenuine for a key that is not among them,
    and for a text that was changed.
    """
    public = trusted.get(signed.key)
    if public is None:
        raise NotGenuine(f"it is signed with the key {signed.key[:16]!r}, which is not trusted")
    text = message(signed.payload)
    try:
        public.verify(base64.b64decode(signed.signature, validate=True), text)
    except (InvalidSignature, binascii.Error, ValueError):
        raise NotGenuine("its signature is not that of its content: it was changed") from None
    return text.removeprefix(PURPOSE).split(b"\n")


def new_key(private_file: Path, public_file: Path) -> str:
    """Write a pair of keys as PEM files, and return the fingerprint.

    Only the owner may read the private one. Raises UsageError where a file is there already.
    """
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for path, content, mode in ((private_file, pem, 0o600), (public_file, public, 0o644)):
        try:
            create_file(path, content, mode)
        except OSError as error:
            raise UsageError(
                f"The key {path} cannot be written: {error.strerror}.",
                "Name a file that is not there yet: a key that is lost cannot be made again.",
            ) from None
    return fingerprint(private.public_key())


def private_key(pem: bytes, name: str) -> Ed25519PrivateKey:
    """Load a private key, which messages call `name`. Raises UsageError."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(
            f"{name} holds no private Ed25519 key.", "`grader keys new` makes a pair of keys."
        )
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """Load a public key. Raises UsageError."""
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"The key {path} cannot be read: {error.strerror}.", "Name the file of a public key."
        ) from None
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(
            f"{path} holds no public Ed25519 key.", "`grader keys new` makes a pair of keys."
        )
    return key
