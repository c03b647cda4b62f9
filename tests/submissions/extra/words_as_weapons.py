# NUL, ANSI, bidi, lone surrogates and markup in everything that is shown.
import sys

TEXT = "a\x00b\x1b[31mred\x1b]0;title\x07\u202egnip\u2066 \x85 [bold]markup[/bold] <script>x</script>"


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    print(TEXT)
    print(TEXT, file=sys.stderr)
    sys.stdout.buffer.write(b"\xff\xfe\n")
    raise type("E\x1b[31m\x00" + "x" * 5000, (Exception,), {})(TEXT + "\ud800" + "y" * 100_000)
