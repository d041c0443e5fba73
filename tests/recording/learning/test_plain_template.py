"""Shapes are written out where a learner compares templates with answers."""

from xs2a_sandbox.features.derive.learning.plain_template import expand

SHAPES = {
    "link": {"href": "{{ it.at }}"},
    "links": {"self": {"shape": "link", "of": {"at": "{{ it.own }}"}}, "up": "{{ it.up if it.own }}"},
}


def test_what_is_put_together_for_a_shape_is_written_out() -> None:
    template = {"_links": {"shape": "links", "of": {"own": "/x/{{ result.id }}"}}}

    assert expand(template, SHAPES) == {
        "_links": {"self": {"href": "{{ ('/x/' ~ result.id) }}"}, "up": "{{ none if ('/x/' ~ result.id) }}"}
    }


def test_merged_mappings_become_one() -> None:
    template = {"merge": [{"a": 1, "b": None}, {"shape": "link", "of": {"at": "{{ result.self }}"}}]}

    assert expand(template, SHAPES) == {"a": 1, "href": "{{ result.self }}"}


def test_the_shape_of_what_a_handler_returns_stays() -> None:
    template = [{"shape": "link", "of": "{{ result.method }}"}, {"merge": ["{{ result.x }}", {"a": 1}]}, 5]

    assert expand(template, SHAPES) == template
