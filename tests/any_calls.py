"""Any call at all, as a hypothesis strategy: for tests of whatever stores or exports calls."""

from __future__ import annotations

from hypothesis import strategies as st

from llmphases.calls import Call, Detail, Ended, ProcessUse, Stretch, Usage
from llmphases.conventions import is_ours
from llmphases.phases import Cost, Origin, Phase

# Seconds as doubles hold whole nanoseconds up to weeks.
times = st.integers(0, 10**15)
counts = st.integers(0, 10**9)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
integers = st.integers(-(2**63) + 1, 2**63 - 1)
floats = st.floats(allow_nan=False)
scalars = st.one_of(texts, st.booleans(), integers, floats)
values = st.one_of(
    scalars,
    *(st.lists(kind, max_size=3).map(tuple) for kind in (texts, st.booleans(), integers, floats)),
)
own_keys = texts.filter(lambda key: key and not is_ours(key))
own_keys |= st.sampled_from(["gen_ai.conversation.id", "gen_ai.agent.name", "process.owner"])
reported_keys = texts.filter(lambda key: key and key != "trusted")


def perhaps(strategy):
    return st.none() | strategy


processes = st.builds(
    ProcessUse,
    executable=perhaps(texts),
    pid=counts,
    exit_code=perhaps(st.integers(-64, 255)),
    wall_ns=perhaps(times),
    cpu_ns=perhaps(times),
    memory_peak=perhaps(st.integers(0, 2**50)),
    survivors=perhaps(counts),
)


@st.composite
def extents(draw, start_us):
    """True start and end, and what of it is drawn; no two pieces at the very same place."""
    spans = draw(
        st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**6)), max_size=5, unique=True)
    )
    return [
        (
            begin * 1000 + draw(st.integers(0, 999)),
            (begin + length) * 1000 + draw(st.integers(0, 999)),
            (start_us + begin, start_us + begin + length) if draw(st.booleans()) else None,
        )
        for begin, length in spans
    ]


@st.composite
def stretches(draw, start_us, phases):
    found = [
        Stretch(
            phase=draw(phases),
            start_ns=start,
            end_ns=end,
            request=draw(perhaps(st.integers(0, 5))),
            origin=draw(st.sampled_from(Origin)),
            drawn=drawn,
        )
        for start, end, drawn in draw(extents(start_us))
    ]
    return tuple(sorted(found, key=lambda s: s.start_ns))


@st.composite
def calls(draw, name):
    start_us = draw(st.integers(1, 2**60 // 1000))
    exclusive = draw(st.dictionaries(st.sampled_from(Phase), times, max_size=6))
    unattributed = draw(times)
    either = st.sampled_from([Cost.FIXED, Cost.UNSPLIT])
    stream = draw(st.booleans())
    requests = draw(counts)
    details = tuple(
        Detail(name=draw(texts), cost=draw(st.sampled_from(Phase)).cost,
               start_ns=start, end_ns=end, drawn=drawn)
        for start, end, drawn in draw(extents(start_us))
    )  # fmt: skip
    return Call(
        name=name,
        start_unix_ns=start_us * 1000 + draw(st.integers(0, 999)),
        duration_ns=sum(exclusive.values()) + unattributed,
        exclusive_ns=exclusive,
        unattributed_ns=unattributed,
        unattributed_cost=draw(either) if unattributed else Cost.UNSPLIT,
        stretches=draw(stretches(start_us, st.sampled_from(Phase))),
        stalls=draw(stretches(start_us, st.just(Phase.TRANSMISSION))),
        details=details,
        operation=draw(texts),
        provider=draw(perhaps(texts)),
        request_model=draw(perhaps(texts)),
        response_model=draw(perhaps(texts)),
        stream=stream,
        usage=draw(perhaps(st.builds(Usage, input_tokens=counts, output_tokens=perhaps(counts)))),
        requests=requests,
        retries=draw(counts) if requests else 0,
        chunks=draw(perhaps(counts)),
        first_chunk_ns=draw(perhaps(times)) if stream else None,
        first_token_ns=draw(perhaps(times)),
        first_reasoning_ns=draw(perhaps(times)),
        first_answer_ns=draw(perhaps(times)),
        first_token_rule=draw(perhaps(texts)),
        units=draw(perhaps(counts)),
        batch_size=draw(perhaps(counts)),
        cache_result=draw(perhaps(st.sampled_from(["hit", "miss"]))),
        queued_ns=draw(perhaps(times)),
        nested=draw(st.booleans()),
        job=draw(perhaps(texts)),
        ended=draw(perhaps(st.sampled_from(Ended))),
        error_type=draw(perhaps(texts)),
        reported=draw(st.dictionaries(reported_keys, scalars, max_size=3)),
        reported_trusted=draw(perhaps(st.booleans())),
        process=draw(perhaps(processes)),
        attributes=draw(st.dictionaries(own_keys, values, max_size=3)),
    )
