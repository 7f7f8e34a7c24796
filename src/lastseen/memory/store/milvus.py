"""Milvus as a vector index that many robots share; exact (FLAT), strongly consistent, never in the way.

The collection carries what a search across robots filters by: place, label, time and whose memory it is. Needs the
extra ``milvus``. Everything the server can do wrong becomes ``IndexUnreachable``, which callers wait out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import IndexMismatch, IndexUnreachable, InvalidValue, LastseenError, needs_extra
from lastseen.memory.store.index import Match, best_first, checked_query, checked_rows

_MOST = 16_384
"""Rows that one answer of Milvus can hold."""
_CHUNK = 500
"""Keys per filter: a longer expression is refused."""
_EXTRA = 16
_PAGE = 10_000
_MOST_VALUES = 5000
"""Different labels that are looked at: more than detectors know."""
FIELDS = ("key", "robot", "session", "object", "x", "y", "z", "label", "color", "seen_at", "state")
"""What stands beside each vector; ``seen_at`` is the last sighting in seconds since 1970, -1 where it has no date."""


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """Where a collection lives: ``milvus://[user@]host:port/[database/]collection``, ``milvus+tls://`` for TLS.

    Secrets are never part of it, so that it may stand in settings, logs and errors: a token or the user's password is
    read from the environment (``LASTSEEN_MILVUS_TOKEN``, ``LASTSEEN_MILVUS_PASSWORD``), and the certificate that the
    server must show from the file ``LASTSEEN_MILVUS_CERTIFICATE`` names, where it is not known to this machine.
    """

    host: str
    port: int
    collection: str
    database: str = ""
    user: str = ""
    tls: bool = False

    @classmethod
    def parse(cls, text: str) -> MilvusAddress:
        """Read an address."""
        found = _ADDRESS.fullmatch(text)
        if found is None:
            shown = re.sub(r"//[^/]*@", "//...@", text)
            raise InvalidValue("index", shown, "is no address of Milvus", remedy="milvus://host:19530/collection")
        if found["password"] is not None:
            raise InvalidValue(
                "index",
                re.sub(r"//[^/]*@", f"//{found['user']}:...@", text),
                "holds a password, which settings and logs would show",
                remedy=f"leave it out and set the environment variable {PASSWORD}",
            )
        return cls(
            found["host"],
            int(found["port"]),
            found["collection"],
            found["database"] or "",
            found["user"] or "",
            tls=found["tls"] is not None,
        )

    def __str__(self) -> str:
        user, database = f"{self.user}@" if self.user else "", f"{self.database}/" if self.database else ""
        return f"milvus{'+tls' * self.tls}://{user}{self.host}:{self.port}/{database}{self.collection}"

    def client_options(self) -> dict[str, Any]:
        """How pymilvus is told all this, secrets included."""
        options: dict[str, Any] = {"uri": f"http{'s' * self.tls}://{self.host}:{self.port}", "db_name": self.database}
        if os.environ.get(TOKEN):
            options["token"] = os.environ[TOKEN]
        elif self.user:
            options |= {"user": self.user, "password": os.environ.get(PASSWORD, "")}
        if self.tls and os.environ.get(CERTIFICATE):
            options["server_pem_path"] = os.environ[CERTIFICATE]
        return options


_ADDRESS = re.compile(
    r"milvus(?P<tls>\+tls)?://((?P<user>[^:@/\s]+)(:(?P<password>[^@/\s]*))?@)?(?P<host>[^:@/\s]+):(?P<port>\d{1,5})/"
    r"((?P<database>[A-Za-z_]\w{0,200})/)?(?P<collection>[A-Za-z_]\w{0,200})"
)
TOKEN, PASSWORD = "LASTSEEN_MILVUS_TOKEN", "LASTSEEN_MILVUS_PASSWORD"
CERTIFICATE = "LASTSEEN_MILVUS_CERTIFICATE"


class MilvusIndex:
    """Vectors by key in one collection of a Milvus server, with what a search across robots filters by.

    ``dim`` and ``encoder`` describe the vectors that are put in; without them the collection is only asked, and must
    exist.
    """

    def __init__(self, address: str, dim: int | None = None, *, encoder: str = "", timeout: float = 10.0) -> None:
        self.address = MilvusAddress.parse(address)
        self._wanted = dim
        self._held: int | None = None
        self._encoder = encoder
        self._timeout = timeout
        self._client: Any = None

    @property
    def dim(self) -> int:
        """Length of every vector."""
        if self._wanted is not None:
            return self._wanted
        if self._held is None:
            with self._talking():
                pass
        assert self._held is not None
        return self._held

    def __len__(self) -> int:
        return self.count("")

    def keys(self) -> list[str]:
        """Every key held, sorted."""
        return sorted(row["key"] for row in self.rows(fields=["key"]))

    def upsert(self, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Put vectors in without further facts."""
        self.upsert_rows([{"key": key} for key in keys], vectors)

    def upsert_rows(self, facts: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        """Put vectors in with the facts of ``FIELDS``; a fact left out is empty."""
        rows = checked_rows([str(fact["key"]) for fact in facts], vectors, self.dim)
        data = [
            {**_EMPTY, **fact, "embedding": row.tolist(), "label": str(fact.get("label") or "")[:200]}
            for fact, row in zip(facts, rows, strict=True)
        ]
        with self._talking() as client:
            for first in range(0, len(data), _CHUNK):
                part = data[first : first + _CHUNK]
                # Milvus 2.3's own upsert puts rows into partitions at random, where a filter by robot misses them
                client.delete(self._name, ids=[str(row["key"]) for row in part])
                client.insert(self._name, data=part)

    def remove(self, keys: Sequence[str]) -> None:
        """Take keys out; a key not held is no error."""
        with self._talking() as client:
            for first in range(0, len(keys), _CHUNK):
                client.delete(self._name, ids=list(keys[first : first + _CHUNK]))

    def remove_objects(self, robot: str, object_ids: Sequence[str]) -> None:
        """Take objects of one robot out; those of others with the same ids stay."""
        for part in _chunks(sorted(object_ids)):
            where = f"robot == {quoted(robot)} and {one_of('object', part)}"
            self.remove([str(row["key"]) for row in self.rows(where=where, fields=["key"])])

    def search(self, query: NDArray[np.float32], *, k: int, among: Sequence[str] | None = None) -> list[Match]:
        """The k nearest, or the k nearest of the keys in ``among``."""
        row = checked_query(query, self.dim, k)
        filters = [""] if among is None else [one_of("key", part) for part in _chunks(sorted(set(among)))]
        found: dict[str, float] = {}
        for expression in filters:
            found |= {hit["key"]: hit["score"] for hit in self.nearest(row, k=k, where=expression, fields=["key"])}
        keys = sorted(found)
        return best_first(keys, np.array([found[key] for key in keys], dtype=np.float32), k) if keys else []

    def nearest(
        self, query: NDArray[np.float32], *, k: int, where: str = "", fields: Sequence[str] = FIELDS
    ) -> list[dict[str, Any]]:
        """The k nearest rows that a filter lets pass, with their facts and score, and all that tie with the last."""
        wanted = min(k + _EXTRA, _MOST)
        with self._talking() as client:
            while True:
                answer = client.search(
                    self._name,
                    data=[query.tolist()],
                    limit=wanted,
                    filter=where,
                    output_fields=list(fields),
                    consistency_level="Strong",
                )[0]
                hits = [{**dict(hit["entity"]), "score": float(hit["distance"])} for hit in answer]
                whole = len(hits) < wanted or wanted == _MOST
                if whole or hits[-1]["score"] < hits[min(k, len(hits)) - 1]["score"]:
                    return hits
                wanted = min(wanted * 4, _MOST)

    def rows(self, *, where: str = "", fields: Sequence[str] = FIELDS) -> list[dict[str, Any]]:
        """Every row that a filter lets pass, by key; Milvus gives them in that order, a page at a time.

        Each page is a strongly consistent read of its own, so that the newest writes are among them.
        """
        found: list[dict[str, Any]] = []
        names = list(dict.fromkeys(["key", *fields]))
        with self._talking() as client:
            while True:
                after = f"key > {quoted(found[-1]['key'] if found else '')}"
                page = client.query(
                    self._name,
                    filter=f"({where}) and {after}" if where else after,
                    output_fields=names,
                    limit=_PAGE,
                    consistency_level="Strong",
                )
                found += sorted((dict(row) for row in page), key=lambda row: str(row["key"]))
                if len(page) < _PAGE:
                    return found

    def count(self, where: str) -> int:
        """How many rows a filter lets pass."""
        with self._talking() as client:
            rows = client.query(self._name, filter=where, output_fields=["count(*)"], consistency_level="Strong")
            return int(rows[0]["count(*)"])

    def distinct(self, field: str, *, where: str) -> list[str]:
        """The values of a text field among the rows that a filter lets pass, sorted; Milvus itself cannot group."""
        found: set[str] = set()
        with self._talking() as client:
            while len(found) < _MOST_VALUES:
                rest = f"({where}) and {field} not in [{', '.join(map(quoted, sorted(found)))}]" if found else where
                page = client.query(
                    self._name, filter=rest, output_fields=[field], limit=_CHUNK, consistency_level="Strong"
                )
                if not page:
                    break
                found |= {str(row[field]) for row in page}
        return sorted(found)

    def close(self) -> None:
        """End the connection; may be called twice."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @property
    def _name(self) -> str:
        return self.address.collection

    @contextmanager
    def _talking(self) -> Iterator[Any]:
        with needs_extra("a Milvus index", extra="milvus"):
            from grpc import RpcError
            from pymilvus import MilvusException
        try:
            if self._client is None:
                self._client = self._connect()
            yield self._client
        except (MilvusException, RpcError, OSError, ValueError) as error:
            if isinstance(error, LastseenError):
                raise
            self.close()
            raise IndexUnreachable(str(self.address), _without_secrets(_first_line(error))) from None

    def _connect(self) -> Any:
        from pymilvus import MilvusClient

        client = MilvusClient(timeout=self._timeout, **self.address.client_options())
        try:
            if client.has_collection(self._name):
                self._held = self._check(client.describe_collection(self._name))
                client.load_collection(self._name)
            elif self._wanted is None:
                raise InvalidValue("index", str(self.address), "does not exist yet", remedy="let a robot write to it")
            else:
                self._create(client, self._wanted)
                self._held = self._wanted
        except BaseException:
            client.close()
            raise
        return client

    def _create(self, client: Any, dim: int) -> None:
        from pymilvus import DataType, MilvusClient, MilvusException

        schema = MilvusClient.create_schema(
            auto_id=False, enable_dynamic_field=False, description=f"lastseen {_SHAPE} {self._encoder}"
        )
        schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=512)
        schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=dim)
        # rows of one robot lie together: asking or forgetting one does not read those of the others
        schema.add_field("robot", DataType.VARCHAR, max_length=256, is_partition_key=True)
        for name in ("object", "label", "color", "state"):
            schema.add_field(name, DataType.VARCHAR, max_length=1024)
        for name in ("x", "y", "z", "seen_at"):
            schema.add_field(name, DataType.DOUBLE)
        schema.add_field("session", DataType.INT64)
        index = client.prepare_index_params()
        # exact; and HNSW loses filtered rows of small segments
        index.add_index("embedding", index_type="FLAT", metric_type="IP")
        try:
            client.create_collection(self._name, schema=schema, index_params=index, consistency_level="Strong")
        except MilvusException:
            # another robot may have made it at the same time
            if not client.has_collection(self._name):
                raise
            self._check(client.describe_collection(self._name))
            client.load_collection(self._name)

    def _check(self, described: Mapping[str, Any]) -> int:
        """The length of a collection's vectors; raises when they are not of this memory's kind."""
        words = str(described.get("description", "")).split(maxsplit=2)
        fields = {field["name"] for field in described["fields"]}
        if words[:2] != ["lastseen", _SHAPE] or fields != {"embedding", *FIELDS}:
            raise IndexMismatch(
                "index", str(self.address), "was made by another program or version", remedy="name another collection"
            )
        held = next(int(field["params"]["dim"]) for field in described["fields"] if field["name"] == "embedding")
        encoder = words[2] if len(words) > 2 else ""
        if self._wanted is not None and (held, encoder) != (self._wanted, self._encoder):
            raise IndexMismatch(
                "index",
                str(self.address),
                f"holds embeddings of {encoder or 'no named encoder'} with {held} numbers, not of {self._encoder}",
                remedy=f"name another collection, or run `lastseen reindex --encoder {encoder}` on this memory",
            )
        return held


_SHAPE = "2"
"""The version of the collection's fields; one of another version is not touched."""
_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("robot", "object", "label", "color", "state"), ""),
    **dict.fromkeys(("x", "y", "z"), 0.0),
    "seen_at": -1.0,
    "session": 0,
}


def quoted(text: str) -> str:
    """Text as a literal of Milvus's filter language."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def one_of(field: str, values: Sequence[str]) -> str:
    """A filter: the field has one of these values."""
    return f"{field} in [{', '.join(quoted(value) for value in values)}]"


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(values), _CHUNK):
        yield values[first : first + _CHUNK]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _without_secrets(text: str) -> str:
    for name in (TOKEN, PASSWORD):
        secret = os.environ.get(name)
        text = text.replace(secret, "...") if secret else text
    return text
