"""A certificate for a page in the home's own network: made at start, kept in memory, known by its fingerprint.

Browsers give camera and pose only to pages that came over TLS or from localhost. No authority signs for an address of
a home network, so the phone asks once whether to go on; the fingerprint tells whether it is this server.
"""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from pathlib import Path

from lastseen.errors import needs_extra

DAYS = 7
"""How long a certificate holds: longer than any run, and it is made anew at every start."""


def make_certificate(host: str) -> tuple[ssl.SSLContext, bytes]:
    """A server's TLS context for an IP address, and the certificate in DER."""
    with needs_extra("a phone's page over TLS", extra="phone"):
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lastseen")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # the standard library reads keys from files only: in a folder of this user's, gone at once
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "phone.pem"
        path.touch(mode=0o600)
        path.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
        context.load_cert_chain(path)
    return context, certificate.public_bytes(serialization.Encoding.DER)
