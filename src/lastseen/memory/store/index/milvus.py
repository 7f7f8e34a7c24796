"""Milvus as a vector index that many robots share; exact (FLAT), strongly consistent, never in the way.

The collection carries what a search across robots filters by: place, label, time and whose memory it is. Needs the
extra ``milvus``. Everything the server can do wrong becomes ``IndexUnreachable``, which callers wait out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import IndexMismatch, IndexUnreachable, InvalidValue, MissingExtra
from lastseen.memory.store.index.protocol import Match, best_first, checked_query, checked_rows

_MOST = 16_384
"""Rows that one answer of Milvus can hold."""
_CHUNK = 500
"""Keys per filter: a longer expression is refused."""
_EXTRA = 16
_PAGE = 1000
FIELDS = ("key", "robot", "session", "object", "x", "y", "z", "label", "color", "last_seen", "stale", "status")


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """Where a collection lives: ``milvus://host:port/collection``."""

    host: str
    port: int
    collection: str

    @classmethod
    def parse(cls, text: str) -> MilvusAddress:
        """Read an address."""
        found = re.fullmatch(r"milvus://([^:/\s]+):(\d{1,5})/([A-Za-z_]\w{0,200})", text)
        if found is None:
            raise InvalidValue("index", text, "is no address of Milvus", remedy="milvus://host:19530/collection")
        return cls(found[1], int(found[2]), found[3])


class MilvusIndex:
    """Vectors by key in one collection of a Milvus server."""

    def __init__(self, address: str, dim: int, *, look: str = "", timeout: float = 10.0) -> None:
        self.address = MilvusAddress.parse(address)
        self._dim = dim
        self._look = look
        self._timeout = timeout
        self._client: Any = None

    @property
    def dim(self) -> int:
        """Length of every vector."""
        return self._dim

    def __len__(self) -> int:
        with self._talking() as client:
            rows = client.query(self._name, filter="", output_fields=["count(*)"], consistency_level="Strong")
            return int(rows[0]["count(*)"])

    def keys(self) -> list[str]:
        """Every key held, sorted."""
        return sorted(row["key"] for row in self.rows(fields=["key"]))

    def upsert(self, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Put vectors in without further facts."""
        self.upsert_rows([{"key": key} for key in keys], vectors)

    def upsert_rows(self, facts: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        """Put vectors in with the facts of ``FIELDS``; a fact left out is empty."""
        rows = checked_rows([str(fact["key"]) for fact in facts], vectors, self._dim)
        data = [
            {**_EMPTY, **fact, "embedding": row.tolist(), "label": str(fact.get("label") or "")[:200]}
            for fact, row in zip(facts, rows, strict=True)
        ]
        with self._talking() as client:
            for first in range(0, len(data), _CHUNK):
                client.upsert(self._name, data=data[first : first + _CHUNK])

    def remove(self, keys: Sequence[str]) -> None:
        """Take keys out; a key not held is no error."""
        with self._talking() as client:
            for first in range(0, len(keys), _CHUNK):
                client.delete(self._name, ids=list(keys[first : first + _CHUNK]))

    def search(self, query: NDArray[np.float32], *, k: int, among: Sequence[str] | None = None) -> list[Match]:
        """The k nearest, or the k nearest of the keys in ``among``."""
        row = checked_query(query, self._dim, k)
        filters = [""] if among is None else [_in("key", part) for part in _chunks(sorted(set(among)))]
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
        """Every row that a filter lets pass, by key."""
        found: dict[str, dict[str, Any]] = {}
        with self._talking() as client:
            pages = client.query_iterator(
                self._name, batch_size=_PAGE, filter=where or 'key >= ""', output_fields=["key", *fields]
            )
            while page := pages.next():
                found |= {str(row["key"]): dict(row) for row in page}
            pages.close()
        return [found[key] for key in sorted(found)]

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
        try:
            from grpc import RpcError
            from pymilvus import MilvusException
        except ImportError:
            raise MissingExtra("a Milvus index", extra="milvus") from None
        try:
            if self._client is None:
                self._client = self._connect()
            yield self._client
        except (MilvusException, RpcError, ConnectionError) as error:
            self.close()
            raise IndexUnreachable(f"{self.address.host}:{self.address.port}", _first_line(error)) from error

    def _connect(self) -> Any:
        from pymilvus import DataType, MilvusClient

        client = MilvusClient(uri=f"http://{self.address.host}:{self.address.port}", timeout=self._timeout)
        if client.has_collection(self._name):
            self._check(client.describe_collection(self._name))
            client.load_collection(self._name)
            return client
        schema = MilvusClient.create_schema(
            auto_id=False, enable_dynamic_field=False, description=f"lastseen {self._look}"
        )
        schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=512)
        schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=self._dim)
        for name in ("robot", "object", "label", "color", "status"):
            schema.add_field(name, DataType.VARCHAR, max_length=1024)
        for name in ("x", "y", "z", "last_seen"):
            schema.add_field(name, DataType.DOUBLE)
        schema.add_field("session", DataType.INT64)
        schema.add_field("stale", DataType.BOOL)
        index = client.prepare_index_params()
        index.add_index("embedding", index_type="FLAT", metric_type="IP")
        client.create_collection(self._name, schema=schema, index_params=index, consistency_level="Strong")
        return client

    def _check(self, described: Mapping[str, Any]) -> None:
        vector = next((field for field in described["fields"] if field["name"] == "embedding"), None)
        held = None if vector is None else int(vector["params"]["dim"])
        if held != self._dim or described.get("description") != f"lastseen {self._look}":
            raise IndexMismatch(
                "index",
                self._name,
                f"holds vectors of {described.get('description')!r} with {held} numbers, not of {self._look!r}",
                remedy="name another collection, or run `lastseen reindex`",
            )


_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("robot", "object", "label", "color", "status"), ""),
    **dict.fromkeys(("x", "y", "z", "last_seen"), 0.0),
    "session": 0,
    "stale": False,
}


def quoted(text: str) -> str:
    """Text as a literal of Milvus's filter language."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _in(field: str, values: Sequence[str]) -> str:
    return f"{field} in [{', '.join(quoted(value) for value in values)}]"


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(values), _CHUNK):
        yield values[first : first + _CHUNK]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
