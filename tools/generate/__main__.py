"""Write the generated files: `python -m tools.generate`."""

from tools.generate import FILES, ROOT

for name, make in FILES.items():
    (ROOT / name).write_text(make(), "utf-8")
