"""What a person sees (spec 9.1, 9.3): order, bounds, words, and nothing that harms a terminal."""

from __future__ import annotations

import re
import subprocess
from functools import partial

import pytest

from discern.definitions import Definition
from discern.outcomes import Drop, DropRecord, Evaluation, Judgement, Related, Result, Step, Veto
from discern.report import listing, summaries, text
from discern.text import one_line
from discern.vocabulary import CHECKPOINT_FIELD_ROLES, STATES, VETOES

BASE, HEAD, OTHER = "1" * 40, "2" * 40, "3" * 40
NASTY = "a\x00b\x1b[31mc\x07d\x7fe\x85f\u2028g\u2029h\u202ei\u2066j\u200bk\rl\tm\udcffn\nlast"


def judged(ident="ask", outcome="fired", mode="stop", state="awaiting", **more):
    """A judgement in which everything but what a test is about is plain."""
    evaluation = {name: more.pop(name) for name in ("veto", "drop", "matched", "related", "steps") if name in more}
    held = {name: more.pop(name) for name in ("subject", "rationale") if name in more}
    definition = Definition(id=ident, mode=mode, **{"question": "Is it well?", **more})
    if outcome in ("fired", "indeterminate", "undecided"):
        evaluation = {"matched": ("a",), **evaluation}
    return Judgement(
        definition=definition,
        definition_hash="d" * 64,
        evaluation=Evaluation(id=ident, outcome=outcome, **evaluation),
        state=state if mode == "stop" and outcome in ("fired", "indeterminate") else "none",
        **{"subject": "e" * 64, **held},
    )


def dropped(ident, reason="trigger_content_unavailable", detail=None, account="what was lost", mode="stop"):
    return DropRecord(
        checkpoint=ident, mode=mode if ident else None, policy_commit=BASE, reason=reason, detail=detail, account=account
    )


def result(*checkpoints, drops=(), **more):
    known = {"policy_commit": BASE, "trunk": "refs/heads/main", "head": HEAD, **more}
    return Result(checkpoints=checkpoints, drops=drops, **known)


def lines(*checkpoints, **options):
    shown = {name: options.pop(name) for name in ("colour", "verbose", "timings", "root") if name in options}
    return text.render(result(*checkpoints, **options), **shown).splitlines()


def test_questions_come_first_then_advice_then_drops_then_one_line():
    """spec 9.1: fired stop questions first, then advice, then what could not be judged and why, then the summary."""
    said = lines(
        judged("quiet", "vetoed", veto=Veto("kinds")),
        judged("hint", mode="advise", question="Meant to stay?"),
        judged("lost", "dropped", drop=Drop("trigger_content_unavailable", "file_limit", "b is too large")),
        judged("settled", state="declared_met", question="Answered?"),
        judged("cmd", "undecided"),
        judged("first", question="Does it break a caller?"),
        drops=(dropped("lost", detail="file_limit", account="b is too large"),),
        blocking=True,
    )
    heads = [line for line in said if line and not line.startswith(" ")]
    assert heads[:-1] == [
        "stop  first  awaits an answer",
        "stop  settled  declared met",
        "advice  hint",
        "not decided",
        "could not be judged",
    ]
    assert heads[-1] == said[-1]
    assert said[-1].startswith("blocked: 1 open question, 1 declared met, 1 advice, 1 undecided, 1 drop, 1 quiet (")
    assert "    stop  lost  trigger_content_unavailable (file_limit)" in said
    assert "        b is too large" in said


def test_a_question_is_served_with_its_texts_files_and_what_to_do():
    """spec 9.1: the question, what teaches, the reference, the matched files and the commands to go on with."""
    ask = judged(
        question="Does it break\n\na caller?\n",
        teach="Callers pin us.",
        reference="docs/api.md",
        matched=("src/a.py", "src/b.py"),
        related=(Related("src/b.py", "src/b_old.py"),),
    )
    assert lines(ask)[:-2] == [
        "stop  ask  awaits an answer",
        "    Does it break",
        "",
        "    a caller?",
        "",
        "    Callers pin us.",
        "",
        "    See docs/api.md",
        "",
        "    src/a.py",
        "    src/b.py  (like src/b_old.py)",
        "",
        "    answer  discern declare ask --met",
        '    or      discern declare ask --unmet --why "…"',
    ]


@pytest.mark.parametrize(
    ("files", "shown", "rest"), [(10, 10, None), (11, 10, "    … and 1 more"), (500, 10, "    … and 490 more")]
)
def test_matched_files_are_bounded(files, shown, rest):
    """spec 9.1: a large match is counted, not listed."""
    ask = judged(matched=tuple(f"file{n:03}" for n in range(files)))
    said = lines(ask)
    assert sum("file" in line and line.startswith("    file") for line in said) == shown
    assert [line for line in said if "more" in line] == ([rest] if rest else [])
    assert sum(line.startswith("    file") for line in lines(ask, verbose=True)) == files


@pytest.mark.parametrize(
    ("state", "words", "hint"),
    [
        ("awaiting", "awaits an answer", True),
        ("reopened", "reopened: what was judged has changed since", True),
        ("unknown", "open: earlier answers cannot be read", False),
        ("declared_met", "declared met", False),
        ("declared_unmet", "declared unmet: Not yet.", False),
    ],
)
def test_a_state_has_words_and_only_an_open_question_can_be_answered(state, words, hint):
    """spec 8.1: each state is told; a store that cannot be read takes no declaration (8.3)."""
    said = lines(judged(state=state, rationale="Not yet." if state == "declared_unmet" else None))
    assert said[0] == f"stop  ask  {words}"
    assert any("discern declare" in line for line in said) == hint


def test_every_state_and_every_veto_has_words():
    """spec 5.1, 8.1: no closed word is without words for a person."""
    assert set(text.STATE_WORDS) == set(STATES)
    assert set(text.VETO_WORDS) == set(VETOES)


def test_an_answered_question_is_short():
    """spec 9.1: what was answered is named, with one line of its question, and its files only when everything is asked for."""
    ask = judged(state="declared_met", question="First line\nsecond line", matched=("src/a.py",))
    assert lines(ask)[:3] == ["stop  ask  declared met", "    First line", ""]
    assert "    second line" in lines(ask, verbose=True)
    assert "    src/a.py" in lines(ask, verbose=True)


@pytest.mark.parametrize(("state", "tone"), [("declared_met", "32"), ("declared_unmet", "33"), ("awaiting", "1;31")])
def test_an_answered_question_does_not_alarm(state, tone):
    """spec 9.1: only a question that is open is told in red."""
    assert lines(judged(state=state), colour=True)[0].startswith(f"\x1b[{tone}mstop\x1b[0m  ")


@pytest.mark.parametrize(
    ("length", "more", "rest"),
    [
        (20, {}, None),
        (21, {}, "    … and 1 more line"),
        (22, {"question_file": "docs/q.md"}, "    … and 2 more lines in docs/q.md"),
    ],
)
def test_a_long_question_is_cut(length, more, rest):
    """spec 9.1: twenty lines of a text of the policy, the rest counted and, where it is a file, named; all on request."""
    long = "\n".join(f"line {number}" for number in range(length))
    said = lines(judged(question=long, **more))
    assert sum(line.startswith("    line ") for line in said) == 20
    assert [line for line in said if "more line" in line] == ([rest] if rest else [])
    assert sum(line.startswith("    line ") for line in lines(judged(question="?", teach=long))) == 20
    assert sum(line.startswith("    line ") for line in lines(judged(question=long, teach=long), verbose=True)) == 2 * length


def test_an_answer_that_cannot_be_bound_is_not_offered():
    """spec 7.2: without a subject no declaration can be bound."""
    said = lines(judged(subject=None))
    assert not any("discern declare" in line for line in said)
    assert "    No answer can be recorded: what it would be bound to could not be had." in said


def test_a_commit_takes_no_answer():
    """spec 9.1: with `--commit` states are read and nothing is written."""
    assert not any("discern declare" in line for line in lines(judged(), candidate="commit"))


@pytest.mark.parametrize(
    "ident", ["plain", "api change", "it's", "-x", "--met", "$(id)", "a\x1b[0m\n'\\n\t\x85", "üml", 'say "hi"']
)
@pytest.mark.parametrize("root", [None, "sub dir"])
def test_the_commands_to_copy_reach_the_checkpoint(ident, root):
    """spec 8.3, 9.1: pasted into a shell, a shown command names exactly this id."""
    said = lines(judged(ident), root=root)
    commands = [line.split(maxsplit=1)[1] for line in said if "discern declare" in line]
    script = 'discern() { printf "%s\\0" "$@"; }\n' + "\n".join(commands)
    run = subprocess.run(["bash", "-c", script], capture_output=True, check=True, timeout=20, env={"LC_ALL": "C.UTF-8"})
    words = [word.decode() for word in run.stdout.split(b"\0")[:-1]]
    given = [] if root is None else ["--root", root]
    if ident.startswith("-"):
        assert words == ["declare", *given, "--met", "--", ident, "declare", *given, "--unmet", "--why", "…", "--", ident]
    else:
        assert words == ["declare", *given, ident, "--met", "declare", *given, ident, "--unmet", "--why", "…"]


def test_an_indeterminate_stop_is_asked_with_the_reason():
    """spec 6.7: an indeterminate stop serves its question and discloses the drop; it never reads as a pass."""
    drop = Drop("when_timeout", None, "it ran for more than 10 s")
    said = lines(judged("lost", "indeterminate", drop=drop), drops=(dropped("lost", "when_timeout", account=drop.account),))
    assert said[:3] == [
        "stop  lost  awaits an answer",
        "    could not be decided, so it is asked: when_timeout",
        "        it ran for more than 10 s",
    ]
    assert "    Is it well?" in said
    assert "could not be judged" not in said  # told where it is asked, not twice


def test_the_same_loss_is_told_once():
    """spec 9.1: checkpoints that lost the same thing stand in one line; another mode, reason or account is another line."""
    large, other = "b is too large", "c is too large"
    drops = (
        dropped("one", detail="file_limit", account=large),
        dropped("two", detail="file_limit", account=other),
        dropped("three", detail="file_limit", account=large),
        dropped("four", detail="line_limit", account=large),
        dropped("five", detail="file_limit", account=large, mode="advise"),
    )
    said = lines(drops=drops)
    assert said[:9] == [
        "could not be judged",
        "    stop  one, three  trigger_content_unavailable (file_limit)",
        "        b is too large",
        "    stop  two  trigger_content_unavailable (file_limit)",
        "        c is too large",
        "    stop  four  trigger_content_unavailable (line_limit)",
        "        b is too large",
        "    advise  five  trigger_content_unavailable (file_limit)",
        "        b is too large",
    ]


def test_an_indeterminate_advice_only_discloses_its_drop():
    """spec 6.7: an indeterminate advise serves nothing."""
    drop = Drop("when_timeout", None, "it ran for more than 10 s")
    told = dropped("lost", "when_timeout", account=drop.account, mode="advise")
    said = lines(judged("lost", "indeterminate", mode="advise", drop=drop), drops=(told,))
    assert "    Is it well?" not in said
    assert said[:3] == ["could not be judged", "    advise  lost  when_timeout", "        it ran for more than 10 s"]


def test_a_lost_subject_is_told_beside_an_indeterminate_stop():
    """spec 7.2: each drop of a checkpoint is disclosed, also where another one is told with its question."""
    drop = Drop("when_timeout", None, "it ran for more than 10 s")
    drops = (
        dropped("lost", "when_timeout", account=drop.account),
        dropped("lost", "subject_unavailable", account="a is a folder"),
    )
    assert "    stop  lost  subject_unavailable" in lines(judged("lost", "indeterminate", drop=drop, subject=None), drops=drops)


def test_the_steps_answer_why_a_rule_did_not_fire():
    """spec 5.6: the trace names each step with the files before and after it, aligned, and the veto in words."""
    steps = (Step("generated", 120, 118), Step("selector", 118, 9), Step("adds_matching", 9, 0))
    lost = judged(
        "lost", "dropped", drop=Drop("trigger_history_unavailable", "shallow", "x"), steps=(Step("min_commits", 7, None),)
    )
    said = lines(judged("deps", "vetoed", veto=Veto("adds_matching"), steps=steps), lost, verbose=True)
    start = said.index("steps, with the files before and after")
    assert said[start + 1 : start + 7] == [
        "    deps  vetoed by adds_matching: no added line contains a pattern",
        "        generated      120 → 118",
        "        selector       118 →   9",
        "        adds_matching    9 →   0",
        "    lost  dropped: trigger_history_unavailable (shallow)",
        "        min_commits  7 → ?",
    ]


def test_quiet_checkpoints_are_only_counted():
    """spec 9.1: what did not fire takes no line of its own unless it is asked for."""
    said = lines(judged("a", "vetoed", veto=Veto("kinds")), judged("b", "passed"))
    assert said == [f"not blocked: 2 quiet (working tree on {HEAD[:10]}, since its merge-base with refs/heads/main, {BASE[:10]})"]


@pytest.mark.parametrize(
    ("drops", "verdict"),
    [
        ((dropped("a"),), "not blocked, but 1 could not be judged (--fail-on drops makes it block): 1 drop, 1 quiet"),
        (
            (dropped("a"), dropped(None, "question_store_unreadable")),
            "not blocked, but 2 could not be judged (--fail-on drops makes them block): 2 drops, 1 quiet",
        ),
    ],
)
def test_what_could_not_be_judged_never_sounds_green(drops, verdict):
    """spec 9.1: by default a drop does not block; the last line says so and how it would."""
    quiet = judged("b", "vetoed", veto=Veto("kinds"))
    assert lines(quiet, drops=drops)[-1].startswith(f"{verdict} (working tree on ")
    assert lines(quiet, drops=drops, colour=True)[-1].startswith("\x1b[33mnot blocked, but")
    assert lines(quiet, drops=drops, blocking=True)[-1].startswith("blocked: ")
    assert lines(quiet, colour=True)[-1].startswith("\x1b[32mnot blocked\x1b[0m: ")
    assert lines(judged("c", "undecided"), colour=True)[-1].startswith("\x1b[33mnot blocked\x1b[0m: ")


@pytest.mark.parametrize(
    ("trunk", "named", "words"),
    [
        ("refs/heads/main", "main", "its merge-base with refs/heads/main, "),
        (None, "HEAD~1", "its merge-base with HEAD~1, "),
        (None, "a\x1b", "its merge-base with a\\x1b, "),
        (None, None, "its merge-base "),
    ],
)
def test_what_the_change_is_compared_with_is_named(trunk, named, words):
    """spec 1.1, 9.1: the trunk's full name, else the name the user gave, else no name."""
    end = f"(working tree on {HEAD[:10]}, since {words}{BASE[:10]})\n"
    assert text.render(result(trunk=trunk), trunk=named).endswith(end)
    assert listing.render_listing(result(trunk=trunk), trunk=named).endswith(end)


def test_other_merge_bases_are_named():
    """spec 1.1: with several best common ancestors the text output says so and names the others."""
    said = lines(judged(), other_bases=(OTHER,))
    assert f"There are several merge-bases. The policy is that of {BASE[:10]}; the others are {OTHER[:10]}." in said


def test_nothing_changed_is_said():
    """spec 9.1: no changed path at all is told in words."""
    said = lines(judged("a", "vetoed", veto=Veto("empty_matched_set"), steps=(Step("generated", 0, 0), Step("selector", 0, 0))))
    assert said[0] == f"Nothing has changed since the merge-base {BASE[:10]}."


def test_no_policy_is_said():
    """spec 1.3: without checkpoints at the merge-base the report says so and why the branch's own do not count."""
    said = lines()
    file = "discern.toml is not there, or has no `[checkpoints.<id>]` table"
    assert said[0] == f"At the merge-base {BASE[:10]} {file}, so nothing is asked."
    assert said[-1].startswith("not blocked: nothing to ask (")


def test_no_merge_base_is_said():
    """spec 1.2: without a merge-base the drop is told, and no sentence speaks of a policy that was not found."""
    said = lines(
        drops=(dropped(None, "merge_base_unresolved", account="fetch the full history"),),
        policy_commit=None,
        trunk=None,
        head=None,
    )
    assert said[:3] == ["could not be judged", "    policy  merge_base_unresolved", "        fetch the full history"]
    assert said[-1] == (
        "not blocked, but nothing could be judged (--fail-on drops makes it block): 1 drop"
        " (working tree on an unborn branch, no merge-base)"
    )


def test_times_are_shown_on_request():
    """spec 9.1: `-v` tells what took time, if the caller measured it."""
    said = lines(judged(), verbose=True, timings=[("diff-index", 0.0123), ("total", 1.5)])
    assert "    diff-index      12.3 ms" in said
    assert "    total         1500.0 ms" in said


def nasty_result():
    drop = Drop("when_invalid_exit", NASTY, NASTY)
    return result(
        judged(
            NASTY, matched=(NASTY,), related=(Related(NASTY, NASTY),), question=NASTY, teach=NASTY, reference=NASTY, when=NASTY
        ),
        judged(
            NASTY,
            "indeterminate",
            drop=drop,
            paths=(NASTY,),
            adds_matching=(NASTY,),
            unless_changed=(NASTY,),
            exclude_paths=(NASTY,),
        ),
        judged(NASTY, state="declared_unmet", rationale=NASTY),
        judged(NASTY, "undecided"),
        judged(NASTY, "dropped", drop=drop),
        drops=(dropped(NASTY, detail=NASTY, account=NASTY),),
        trunk=NASTY,
    )


@pytest.mark.parametrize("make", [partial(text.render, verbose=True, root=NASTY, timings=[(NASTY, 1.0)]), listing.render_listing])
def test_no_control_character_reaches_the_terminal(make):
    """spec 9.1: whatever a path or a policy text holds, only harmless characters and line ends are printed."""
    shown = make(nasty_result())
    assert "last" in shown
    assert [c for c in set(shown) if c != "\n" and one_line(c) != c] == []


@pytest.mark.parametrize("make", [text.render, listing.render_listing])
def test_colour_only_adds_colour(make):
    """spec 9.1: without colour no escape is printed, and with it the words are the same."""
    one = result(judged(), judged("b", mode="advise"), judged("c", "undecided"), drops=(dropped("d"),), blocking=True)
    coloured = make(one, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == make(one, colour=False)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain ümläut 漢", "plain ümläut 漢"),
        ("\x1b[0m\x00\x7f", "\\x1b[0m\\x00\\x7f"),
        ("a\tb\r\nc", "a\\tb\\r\\nc"),
        ("\x85\u2028\u202e\ufeff", "\\u0085\\u2028\\u202e\\ufeff"),
        ("\udc85\udcff", "\\x85\\xff"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_unsafe_characters_are_shown_as_escapes(given, shown):
    """spec 9.1: shown escaped, and bytes that are not UTF-8 unlike the characters of the same number."""
    assert one_line(given) == shown


def test_a_text_is_cut_at_its_limit():
    """spec 9.2: at most so many characters, exactly at the limit whole."""
    assert (one_line("abcdef", 6), one_line("abcdefg", 6)) == ("abcdef", "abcde…")


def test_every_field_has_a_summary():
    """spec 2.1: the summaries are enrolled in the registry's names."""
    assert list(summaries.SUMMARIES) == list(CHECKPOINT_FIELD_ROLES)


SET = {
    "paths": (("src/**", "lib/**"), "looks only at src/** or lib/**"),
    "include_generated": (True, "looks at generated files too"),
    "exclude_paths": (("a", "b", "c", "d", "e", "f"), "leaves out a, b, c, d or 2 more"),
    "kinds": (("added", "deleted"), "counts only files that were added or deleted"),
    "adds_matching": (("import os",), 'adds a line containing "import os"'),
    "removes_matching": (("a", "b"), 'removes a line containing "a" or "b"'),
    "new_directory": (True, "adds a file in a directory that was not there"),
    "binary": (False, "counts only text files"),
    "similar_new_file": (True, "adds a file named like one beside it"),
    "unless_changed": (("CHANGELOG.md",), "holds back once the change touches CHANGELOG.md"),
    "min_changed_files": (1, "changes at least 1 file"),
    "min_changed_lines": (3, "changes at least 3 lines"),
    "deletion_dominant": (True, "deletes at least 50 lines, and 2 for each one inserted"),
    "min_commits": (8, "holds at least 8 commits"),
    "when": ("./check\n", "runs a command (exit 0 fires, 10 passes): ./check"),
}


@pytest.mark.parametrize(
    "field", [name for name, role in CHECKPOINT_FIELD_ROLES.items() if role in ("selector", "trigger") and name != "scope"]
)
def test_each_trigger_is_summed_up_in_one_line(field):
    """spec 9.3: a trigger that is set gives one line, and one that is not gives none."""
    value, line = SET[field]
    assert summaries.summary(Definition(id="x", question="q", **{field: value})) == (line,)
    assert summaries.summary(Definition(id="x", question="q")) == ()


def test_a_scope_is_summed_up_by_what_it_selects():
    """spec 2.1, 7.1: an empty scope selects nothing, which is told; a scope's name has a line of its own."""
    assert summaries.summary(Definition(id="x", question="q", paths=())) == ("looks at nothing: its scope has no paths",)
    assert summaries.SUMMARIES["scope"]("api") == "looks only at the scope api"


def test_the_listing_previews_each_checkpoint_and_tells_bad_entries():
    """spec 9.3: mode, a line a trigger, the structural preview, and bad entries with their account."""
    bad = dropped("broken", "checkpoint_definition_invalid", account="colour: no such field", mode="advise")
    shown = listing.render_listing(
        result(
            judged("lines", adds_matching=("import os",), matched=("a", "b"), question="First\nsecond"),
            judged("cmd", "undecided", when="./check.sh"),
            judged("small", "vetoed", mode="advise", veto=Veto("min_changed_files"), min_changed_files=25),
            judged("all"),
            judged("far", "vetoed", veto=Veto("empty_matched_set"), paths=("far/",)),
            drops=(bad,),
        )
    )
    assert shown.splitlines() == [
        "stop  lines  would ask (2 files)",
        '    adds a line containing "import os"',
        "    asks: First …",
        "",
        "stop  cmd  undecided: its command is not run here (1 file)",
        "    runs a command (exit 0 fires, 10 passes): ./check.sh",
        "    asks: Is it well?",
        "",
        "advise  small  vetoed by min_changed_files: too few files",
        "    changes at least 25 files",
        "    asks: Is it well?",
        "",
        "stop  all  would ask (1 file)",
        "    fires for every change",
        "    asks: Is it well?",
        "",
        "stop  far  vetoed: no changed file matches",
        "    looks only at far/",
        "    asks: Is it well?",
        "",
        "could not be judged",
        "    advise  broken  checkpoint_definition_invalid",
        "        colour: no such field",
        "",
        f"5 checkpoints (working tree on {HEAD[:10]}, since its merge-base with refs/heads/main, {BASE[:10]})",
    ]
