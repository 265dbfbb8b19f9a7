"""One repository whose change has everything in it, so that whatever bends a fact would show (spec 4.1, 4.2)."""

from __future__ import annotations

import os
from pathlib import Path

from tests.repositories import EVERYTHING, Repo, begin

OLD, NEW = "abdcececd", "aefccadab"  # 4 lines differ on either side by Git's default algorithm, 7 by patience and histogram


def build(place: Path) -> Repo:
    """Every kind of change, so that presentation, algorithm, renames, context, attributes, flags or filters would show."""
    around = "CONTEXT before\nold\nCONTEXT between\nrow\nCONTEXT between\nold 2\nCONTEXT after\n"
    rows = "".join(f"row {n}\n" for n in range(30))
    files: dict[str, str | bytes] = {
        "algorithm": "\n".join(OLD) + "\n",
        "around.py": around,
        "moved.txt": rows,
        "kept.txt": rows.upper(),
        "space": "a  b\n\n\nc\n",
        "bin.dat": b"\0\1",
        "unended": "x",
        "fn.c": "int f()\n{\n  return 1;\n}\n",
        "gone": "g\n",
        "mode.sh": "#!\n",
        "to-link": "t\n",
        "assumed": "a\n",
        "skipped": "s\n",
        "touched": "t\n",
        "cached": "c\n",
        "both": "b\n",
        "a.gen": "g\n",
        "b.dta": b"\0one\n",
        "sub/c.txt": "c\n",
        "sub/deep/d.txt": "d\n",
        "staged": "s\n",
        ".gitmodules": '[submodule "vend"]\n\tpath = vend\n\turl = ../vend\n',
        ".gitattributes": "*.gen -diff\n*.dta diff\n[attr]quiet -diff\n*.q quiet\n",
        "sub/.gitattributes": "*.txt -diff\n",
        "sub/deep/.gitattributes": "*.txt diff\n",
    }
    repo = begin(place, EVERYTHING, files)
    repo.nested("vend", "one\n", "two\n")
    repo.git("add", "vend")
    repo.commit("vend", add=False)
    repo.git("branch", "--force", "main")
    repo.write("algorithm", "\n".join(NEW) + "\n")
    repo.write("around.py", around.replace("old\n", "needle\n").replace("old 2", "needle 2"))
    repo.git("mv", "moved.txt", "renamed.txt")
    repo.write("both", "left\n")
    repo.commit("left")
    repo.git("switch", "-q", "-c", "other", "main")
    repo.write("both", "right\n")
    repo.commit("right")
    repo.git("switch", "-q", "work")
    repo.git("merge", "-q", "other", status=1)
    edit(repo, rows)
    return repo


def edit(repo: Repo, rows: str) -> None:
    repo.write("copy.txt", rows.upper())
    repo.write("space", "a b\n\nc  \n")
    repo.write("meant", "needle\n")
    repo.write("staged", "index\n")
    repo.git("add", "copy.txt", "space", "staged")
    repo.git("add", "--intent-to-add", "meant")
    repo.git("rm", "-q", "--cached", "cached")
    repo.git("update-index", "--assume-unchanged", "assumed")
    repo.git("update-index", "--skip-worktree", "skipped")
    repo.git("-C", "vend", "checkout", "-q", "HEAD~1")
    repo.write("vend/s", "dirty\n")
    for path in ("assumed", "skipped", "staged", "a.gen", "b.dta", "sub/c.txt", "sub/deep/d.txt"):
        repo.append(path, "needle\n")
    for path, data in {"bin.dat": b"\0\2", "unended": b"x\n", "fn.c": b"int f()\n{\n  return 2;\n}\n", "cached": b"z\n"}.items():
        repo.write(path, data)
    for path in ("n.gen", "n.dta", "n.q", "n.txt", "sub/n.txt", "sub/deep/n.txt", 'é "new"\t.py', "fresh/one", "fresh/two"):
        repo.write(path, "needle\n")
    repo.write("n.dta", b"\0needle\n")
    repo.write("n.bin", b"\0needle\n")
    repo.remove("gone")
    repo.at("mode.sh").chmod(0o755)
    repo.link("to-link", "target")
    repo.nested("lying", "x\n")
    os.utime(repo.at("touched"), (1_000_000_000, 1_000_000_000))


LOST = ("not_regular", "not_regular")
SHAPES = {
    "a.gen": ("modified", 0, 0, True),
    "algorithm": ("modified", 4, 4, False),
    "around.py": ("modified", 2, 2, False),
    "assumed": ("modified", 1, 0, False),
    "b.dta": ("modified", 1, 0, False),
    "bin.dat": ("modified", 0, 0, True),
    "both": ("modified", 5, 1, False),
    "cached": ("deleted", 0, 1, False),
    "copy.txt": ("added", 30, 0, False),
    "fn.c": ("modified", 1, 1, False),
    "fresh/one": ("added", 1, 0, False),
    "fresh/two": ("added", 1, 0, False),
    "gone": ("deleted", 0, 1, False),
    "lying": ("added", *LOST),
    "meant": ("added", 1, 0, False),
    "mode.sh": ("modified", 0, 0, False),
    "moved.txt": ("deleted", 0, 30, False),
    "n.bin": ("added", 0, 0, True),
    "n.dta": ("added", 1, 0, False),
    "n.gen": ("added", 0, 0, True),
    "n.q": ("added", 0, 0, True),
    "n.txt": ("added", 1, 0, False),
    "renamed.txt": ("added", 30, 0, False),
    "skipped": ("modified", 1, 0, False),
    "space": ("modified", 2, 3, False),
    "staged": ("modified", 2, 1, False),
    "sub/c.txt": ("modified", 0, 0, True),
    "sub/deep/d.txt": ("modified", 1, 0, False),
    "sub/deep/n.txt": ("added", 1, 0, False),
    "sub/n.txt": ("added", 0, 0, True),
    "to-link": ("modified", 1, 1, False),
    "unended": ("modified", 1, 1, False),
    "vend": ("modified", *LOST),
    'é "new"\t.py': ("added", 1, 0, False),
}
