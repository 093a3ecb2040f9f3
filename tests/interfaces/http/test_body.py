"""Names given twice are found however the body is written, and nowhere else."""

import json

from hypothesis import given
from hypothesis import strategies as st

from leadwire.interfaces.http import body

_NAMES = st.sampled_from(["a", "b", ":", '"', "a:b", "é", "\\"])
_LEAVES = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
_TEXTS = st.text(st.sampled_from('a:"{},\\é'), max_size=6)
_OBJECTS = st.recursive(
    st.lists(st.tuples(_NAMES, _LEAVES | _TEXTS), max_size=4).map(tuple),
    lambda inner: st.lists(st.tuples(_NAMES, inner | st.lists(inner, max_size=2)), max_size=3).map(tuple),
    max_leaves=6,
)


def _text(value) -> str:
    """JSON of pairs (tuples), which `json` itself would not write twice."""
    if isinstance(value, tuple):
        return "{ " + ", ".join(f"{json.dumps(name)} :{_text(inner)}" for name, inner in value) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    return json.dumps(value)


def _twice(pairs) -> bool:
    return len({name for name, _ in pairs}) < len(pairs)


@given(_OBJECTS)
def test_a_name_is_found_twice_exactly_if_it_is_there_twice(pairs):
    sent = _text(pairs).encode()
    found = body._repeated(sent, body._decode(sent))
    assert bool(found) == (_twice(pairs) or any(_twice(value) for _, value in pairs if isinstance(value, tuple)))
