from __future__ import annotations

import json

import pytest

from llmphases.analysis.plan import Ceilings
from llmphases.analysis.plan_costs import costs
from llmphases.reports.plan_json import plan_json
from reports.sample_groups import call
from reports.sample_plans import planned


def test_the_story_as_json():
    document = json.loads(plan_json(planned(today=156)))
    best = document["recommended"]
    assert (best["chunks"], best["waves"], best["largest_chunk"]) == (4, 1, 39)
    assert best["predicted_s"] == pytest.approx(142.1)
    assert len(document["options"]) == 156
    assert document["options"][3] == best
    assert document["today"] == document["options"][155]
    assert (document["limits"], document["rule"]) == ([], "one wave")
    assert document["recorded"] is None


def test_what_there_is_not_is_null():
    document = json.loads(plan_json(planned(held=Ceilings(memory_per_call=2, memory_limit=1))))
    assert document["recommended"] is document["today"] is document["rule"] is None
    assert (document["options"], document["limits"]) == ([], ["memory"])


def test_what_recorded_costs_rest_on():
    fitted = costs([call(inference=68 + 1.9 * n, units=n) for n in range(1, 10)])
    recorded = json.loads(plan_json(planned(), fitted))["recorded"]
    assert recorded["calls"] == 9
    assert recorded["fixed_s_range"] == pytest.approx([68, 68])
    seen = costs([call(process_startup=68.0, generation=1.9, units=1)])
    recorded = json.loads(plan_json(planned(), seen))["recorded"]
    assert recorded == {"calls": 1, "fixed_s_range": None, "per_unit_s_range": None}
