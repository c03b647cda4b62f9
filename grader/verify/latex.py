"""Finds what keeps a formula from being rendered: a small parser of the LaTeX that KaTeX understands.

It knows groups, arguments of commands, \\left and \\right, environments, names of commands; it lays nothing out. Some
rare commands that KaTeX has are refused, to be spelt otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TOKEN = re.compile(r"\\(?:[A-Za-z]+\*?|.|\n)|[{}\[\]&^_$%]|\s+|.", re.DOTALL)
_TWO = "frac dfrac tfrac cfrac binom dbinom tbinom stackrel overset underset"
_ONE = """text textbf textit textrm texttt textsf mathrm mathbf mathit mathsf mathtt mathbb mathcal mathfrak mathscr
    boldsymbol bm operatorname operatorname* sqrt boxed underbrace overbrace underline overline widehat widetilde hat
    tilde bar vec dot ddot acute grave check breve mathring cancel bcancel phantom hphantom vphantom overrightarrow
    overleftarrow xrightarrow xleftarrow pmod tag substack"""
_NONE = """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi omicron pi varpi
    rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi
    Omega sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth exp log ln lg min max sup inf lim limsup
    liminf arg det dim gcd hom ker deg Pr mod bmod sum prod int iint iiint oint coprod bigcup bigcap bigoplus bigotimes
    bigodot cdot cdots ldots dots vdots ddots times div pm mp ast star circ bullet odot oplus ominus otimes oslash cup
    cap setminus wedge vee land lor lnot neg sqcup sqcap le leq ge geq ne neq equiv approx sim simeq cong propto ll gg
    lll ggg prec succ preceq succeq in ni notin subset supset subseteq supseteq mid nmid parallel perp to gets mapsto
    rightarrow leftarrow leftrightarrow Rightarrow Leftarrow Leftrightarrow implies iff longrightarrow longleftarrow
    longmapsto uparrow downarrow Uparrow Downarrow hookrightarrow infty partial nabla forall exists nexists emptyset
    varnothing top bot ell hbar Re Im aleph angle triangle square blacksquare prime degree dagger ddagger quad qquad
    left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr lvert rvert lVert rVert vert Vert
    langle rangle lfloor rfloor lceil rceil lbrace rbrace lbrack rbrack limits nolimits displaystyle textstyle
    scriptstyle scriptscriptstyle hline nonumber notag not colon because therefore triangleq coloneqq lesssim gtrsim
    leqslant geqslant thinspace medspace thickspace enspace negthinspace cdotp ldotp backslash And newline begin end"""
_KNOWN_ENVIRONMENTS = """matrix pmatrix bmatrix vmatrix Vmatrix Bmatrix smallmatrix cases rcases aligned align align*
    gathered gather gather* split array equation equation*"""
ARGUMENTS = dict.fromkeys(_TWO.split(), 2) | dict.fromkeys(_ONE.split(), 1)
SYMBOLS, ENVIRONMENTS = frozenset(_NONE.split()), frozenset(_KNOWN_ENVIRONMENTS.split())
SIGNS = frozenset(r",;:! |{}\&%$#_")
DELIMITERS = re.compile(
    r"\\(?:[lr](?:vert|Vert|angle|floor|ceil|brace)|vert|Vert|[{}|]|uparrow|downarrow|backslash)|[()\[\].|/<>]"
)


def fault(formula: str) -> str:
    """What is wrong with a formula; "" if it renders."""
    if not formula.strip():
        return "it is empty"
    return next(_faults(TOKEN.findall(formula)), "")


def _faults(tokens: list[str]) -> Iterator[str]:
    opened: list[str] = []
    for place, token in enumerate(tokens):
        yield from _fault_of_nesting(tokens, place, opened)
        if token == "$":
            yield "a dollar sign stands inside it"
        if token == "%":
            yield "an unescaped % hides the rest"
        if token in "^_":
            yield from _fault_of_script(tokens, place)
        if token.startswith("\\"):
            yield from _fault_of_command(tokens, place)
    if opened:
        yield f"`{opened[-1]}` is never closed"


def _fault_of_nesting(tokens: list[str], place: int, opened: list[str]) -> Iterator[str]:
    token = tokens[place]
    if token == "{":
        opened.append("{")
    elif token in ("\\left", "\\right"):
        delimiter = next((one for one in tokens[place + 1 :] if one.strip()), "")
        if not DELIMITERS.fullmatch(delimiter):
            yield f"`{token}` is followed by {delimiter!r}, which is no delimiter"
        if token == "\\left":
            opened.append("\\left")
        elif not opened or opened.pop() != "\\left":
            yield "`\\right` has no `\\left` in its group"
    elif token == "}":
        if not opened or opened.pop() != "{":
            yield "`}` closes nothing"
    elif token in ("\\begin", "\\end"):
        name = _group(tokens, place + 1)
        if name not in ENVIRONMENTS:
            yield f"`{token}{{{name}}}` names no environment of KaTeX"
        if token == "\\begin":
            opened.append(f"\\begin{{{name}}}")
        elif not opened or opened.pop() != f"\\begin{{{name}}}":
            yield f"`\\end{{{name}}}` closes nothing"


def _fault_of_script(tokens: list[str], place: int) -> Iterator[str]:
    following = next((one for one in tokens[place + 1 :] if one.strip()), "")
    if following in ("", "}", "^", "_", "&", "\\right", "\\end"):
        yield f"nothing stands after `{tokens[place]}`"


def _fault_of_command(tokens: list[str], place: int) -> Iterator[str]:
    name = tokens[place][1:]
    if not name[:1].isalpha():
        if name not in SIGNS and not name.isspace():
            yield f"`\\{name}` is no command of KaTeX"
        return
    if name not in SYMBOLS and name not in ARGUMENTS:
        yield f"`\\{name}` is no command of KaTeX that this check knows"
    after = place + 1
    for _ in range(ARGUMENTS.get(name, 0)):
        after = _after_argument(tokens, after)
        if after < 0:
            yield f"`\\{name}` lacks an argument"
            return


def _group(tokens: list[str], place: int) -> str:
    """The text of the group that begins here."""
    if place >= len(tokens) or tokens[place] != "{" or "}" not in tokens[place:]:
        return ""
    return "".join(tokens[place + 1 : tokens.index("}", place)])


def _after_argument(tokens: list[str], place: int) -> int:
    """The place after one argument, an optional one in brackets skipped; -1 where there is none."""
    while place < len(tokens) and tokens[place].isspace():
        place += 1
    if place < len(tokens) and tokens[place] == "[" and "]" in tokens[place:]:
        return _after_argument(tokens, tokens.index("]", place) + 1)
    if place >= len(tokens) or tokens[place] in ("}", "^", "_", "&"):
        return -1
    if tokens[place] != "{":
        return place + 1
    depth = 0
    for position in range(place, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[position], 0)
        if depth == 0:
            return position + 1
    return -1
