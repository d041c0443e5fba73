"""Shapes are expanded where a learner compares templates with answers."""

from xs2a_sandbox.features.derive.learning.plain_template import expand

SHAPES = {
    "link": {"href": "{{ it.at }}"},
    "links": {"self": {"shape": "link", "of": {"at": "{{ it.own }}"}}, "up": "{{ it.up if it.own }}"},
}


def test_a_shape_is_expanded_with_its_values() -> None:
    template = {"_links": {"shape": "links", "of": {"own": "/x/{{ result.id }}"}}}

    assert expand(template, SHAPES) == {
        "_links": {"self": {"href": "{{ ('/x/' ~ result.id) }}"}, "up": "{{ none if ('/x/' ~ result.id) }}"}
    }


def test_merged_mappings_become_one_mapping() -> None:
    template = {"merge": [{"a": 1, "b": None}, {"shape": "link", "of": {"at": "{{ result.self }}"}}]}

    assert expand(template, SHAPES) == {"a": 1, "href": "{{ result.self }}"}


def test_a_shape_of_a_handlers_value_is_not_expanded() -> None:
    template = [{"shape": "link", "of": "{{ result.method }}"}, {"merge": ["{{ result.x }}", {"a": 1}]}, 5]

    assert expand(template, SHAPES) == template
