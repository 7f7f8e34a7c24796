"""Addresses of live ROS 2: ``host:port?domain=5``, all of it optional."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl

from lastseen.errors import SourceError

MAX_DOMAIN = 232
"""The largest ROS domain that DDS has ports for."""


def split_address(address: str) -> tuple[str, int]:
    """Host with port (or nothing) and the domain, which is ROS_DOMAIN_ID where the address does not say."""
    host, _, query = address.partition("?")
    if host and not re.fullmatch(r"[\w.:\[\]-]+:\d{1,5}", host):
        raise SourceError("ROS address", address, "is no host:port", remedy="for example 127.0.0.1:7447?domain=5")
    domain = os.environ.get("ROS_DOMAIN_ID", "") or "0"
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name != "domain":
            raise SourceError(f"ROS {name}", text, "is not known", remedy="the only word is domain")
        domain = text
    if not domain.isdecimal() or int(domain) > MAX_DOMAIN:
        raise SourceError("ROS domain", domain, f"must be 0 to {MAX_DOMAIN}", remedy="0 is the usual one")
    return host, int(domain)
