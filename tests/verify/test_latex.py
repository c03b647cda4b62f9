"""The check that formulas render: what KaTeX takes passes, what it refuses is found."""

from __future__ import annotations

import pytest

from grader.verify.latex import fault


@pytest.mark.parametrize(
    "formula",
    [
        r"\frac{1}{2}", r"\frac12", r"x^{2}_i", r"\left[ \frac{a}{b} \right]", r"\left. x \right|", r"\sqrt[3]{x}",
        r"\begin{cases} x & \text{where } x > 0 \\ 0 & \text{elsewhere} \end{cases}",
        r"\underbrace{a + b}_{\text{sum}}", r"\lvert x \rvert \le \beta_1", r"82\,617", r"f'(x)", r"\{a, b\}",
        r"90\,\%", r"\operatorname{SiTU\text{-}GLU}",
        r"\left\lVert x \right\rVert_\infty", r"x W_g^{\top}",
    ],
)  # fmt: skip
def test_what_renders_passes(formula: str) -> None:
    """Formulas that KaTeX renders have no fault."""
    assert fault(formula) == ""


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (r"{x + 1", "never closed"), (r"\frac{1}{2", "lacks an argument"), ("a}", "closes nothing"),
        (r"\left( x", "never closed"), (r"x \right)", r"no `\left`"), (r"\frac{1}", "lacks an argument"),
        (r"\left{ x \right\}", "no delimiter"),
        (r"x^", "nothing stands after"), (r"{x_}", "nothing stands after"), (r"\tahn(x)", "no command"),
        (r"\begin{cases} x", "never closed"), (r"\begin{case} x \end{case}", "no environment"), ("", "empty"),
        (r"\begin{cases} x \end{array}", "closes nothing"), (r"\left( {x \right)}", r"no `\left`"),
        ("50 % of x", "unescaped"), (r"\sqrt", "lacks an argument"), (r"\htmlData{a=b}{x}", "no command"),
    ],
)  # fmt: skip
def test_what_does_not_render_is_found(formula: str, said: str) -> None:
    """Each way of breaking a formula is named."""
    assert said in fault(formula)
