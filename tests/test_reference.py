"""The reference: every operator has an entry whose example runs and whose rules can be read."""

import pytest

import gradcli
from gradcli.graph.op import DIALECTS, REGISTRY, operators
from gradcli.reference import creators, entry, families, family_title

NAMES = [op.name for op in operators()]


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_has_an_entry(name: str) -> None:
    shown = entry(name)
    assert shown.doc.endswith(".")
    assert name in shown.example or any(sign in shown.example for sign in shown.spellings)
    assert gradcli.derive(shown.example).output == "L"
    op = REGISTRY.get(name) or DIALECTS[name]
    if op.expands is op.composes is None:
        passing = [op.passes(slot) for slot in range(len(shown.rules))]
        assert len(shown.rules) >= op.least
        assert all(not rule.text for rule, passes in zip(shown.rules, passing, strict=True) if not passes)


def test_an_entry_is_found_by_any_spelling() -> None:
    assert entry("expit").name == entry("sigmoid").name == "sigmoid"
    assert entry("@").name == "matmul"


def test_unknown_operators_are_told_the_nearest() -> None:
    with pytest.raises(gradcli.GradError, match="did you mean `sigmoid`"):
        entry("sigmod")


def test_families_have_titles_and_every_operator_once() -> None:
    listed = [op.name for members in families().values() for op in members]
    assert sorted(listed) == sorted(NAMES)
    assert all(len(family_title(family)) > 10 for family in families())
    assert all(doc for _, doc in creators())
