"""Questions over a real repository: whatever is done to it, each stands as a small model of the contract has it (spec 7, 8)."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import tempfile
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from discern import Result, evaluate
from discern.cli import run
from property_tests.declarations import (
    NEW,
    NOTE,
    OWN,
    PLAIN,
    SECRET,
    STORY,
    Branch,
    Candidate,
    Entry,
    Files,
    Mode,
    Model,
    Trunk,
    asked,
    files,
    policy_text,
    untouched,
)
from tests.repositories import Repo, begin, hermetic

QUICK = settings(max_examples=10, stateful_step_count=12, deadline=None, derandomize=True, database=None)
LONG = settings(max_examples=200, stateful_step_count=50, deadline=None)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]

versions = st.integers(0, 2)


class Life(RuleBasedStateMachine):
    """A branch's life. After each step the repository is asked, nothing being written, and must say what the model says."""

    def __init__(self, template: Path) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        place = Path(self.place.name)
        shutil.copytree(template, place, dirs_exist_ok=True)
        self.repo = Repo(place / "repo", hermetic(place / "home"))
        self.model = Model()
        self.numbers = itertools.count(1)
        self.judged: list[tuple[str, str, Candidate]] = []

    def teardown(self) -> None:
        """Nothing that is kept holds a line of code (spec 8.6)."""
        kept = [path.read_bytes() for path in (self.repo.path / ".git" / "discern").glob("*")]
        assert not any(SECRET.encode() in raw for raw in kept)
        self.place.cleanup()

    @initialize(judged=st.sampled_from((True, True, True, False)))
    def begin_with_what_was_judged(self, judged: bool) -> None:
        """Most lives begin where both questions have their answer: that is what later steps can move."""
        if judged:
            self.edit_matched(1)
            self.commit()
            self.evaluate_and_declare(PLAIN, "met")
            self.declare(STORY, "unmet")

    # What is done to the branch.

    def change(self, **what: object) -> None:
        before, after = self.model.candidate.branch, evolve(self.model.candidate.branch, **what)
        old, new = files(self.model.candidate.base, before), files(self.model.candidate.base, after)
        self.write({path: file for path, file in new.items() if old.get(path) != file}, old.keys() - new.keys())
        self.model.candidate = evolve(self.model.candidate, branch=after, dirty=True)

    def write(self, wanted: Files, unwanted: set[str]) -> None:
        for path in unwanted:
            self.repo.remove(path)
        for path, (mode, text) in wanted.items():
            self.repo.write(path, text, int(mode[3:], 8))

    @rule(version=versions)
    def edit_what_the_trunk_edits_too(self, version: int) -> None:
        self.change(tail=version)

    @rule(version=versions)
    def overrule_the_trunk(self, version: int) -> None:
        self.change(far=version)

    @rule(version=versions)
    def edit_matched(self, version: int) -> None:
        self.change(own=version)

    @rule(version=st.none() | versions)
    def add_or_remove_a_file(self, version: int | None) -> None:
        self.change(new=version)

    @rule(mode=st.sampled_from(("100644", "100755")))
    def change_mode(self, mode: Mode) -> None:
        self.change(own_mode=mode)

    @rule(path=st.sampled_from((OWN, "src/moved.txt", "docs/own.txt")))
    def rename(self, path: str) -> None:
        self.change(own_path=path)

    @rule(version=versions)
    def edit_unrelated(self, version: int) -> None:
        self.change(note=version)

    @rule(version=versions)
    def edit_the_rules_on_the_branch(self, version: int) -> None:
        self.change(comment=version)

    @rule()
    def stage(self) -> None:
        self.repo.git("add", "--all")
        self.model.candidate = self.model.candidate.staged()

    @rule()
    def commit(self) -> None:
        self.repo.commit()
        self.model.candidate = self.model.candidate.committed(next(self.numbers))

    @rule()
    def amend(self) -> None:
        """A history-only rewrite if nothing is dirty. A merge takes nothing dirty in: a rebase would leave it behind."""
        candidate = self.model.candidate
        if candidate.commits and not (candidate.commits[-1].merge and candidate.dirty):
            self.repo.git("add", "--all")
            self.repo.git("commit", "--quiet", "--amend", "--allow-empty", "--no-edit")
            self.repo.tick()
            self.model.candidate = candidate.amended(next(self.numbers))

    # What is done to the trunk, and how the branch comes to know.

    def advance(self, tip: Trunk) -> None:
        changed = [(path, text) for path, (_, text) in untouched(tip).items() if path not in (OWN, NOTE)]
        blobs = "".join(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n" for path, text in changed)
        when = self.repo.environment["GIT_COMMITTER_DATE"]
        start = f"commit refs/heads/main\ncommitter T <t@example.invalid> {when}\ndata 0\nfrom refs/heads/main^0\n"
        self.repo.git("fast-import", "--quiet", "--date-format=raw", stdin=f"{start}{blobs}".encode())
        self.repo.tick()
        self.model.tip = evolve(tip, commit=next(self.numbers))

    @rule(version=versions, what=st.sampled_from(("head", "far")))
    def advance_the_trunk_in_what_is_matched(self, version: int, what: str) -> None:
        self.advance(evolve(self.model.tip, **{what: version}))

    @rule(version=versions)
    def advance_the_trunk_elsewhere(self, version: int) -> None:
        self.advance(evolve(self.model.tip, other=version))

    @rule(
        identity=st.sampled_from((PLAIN, STORY)),
        mode=st.sampled_from(("stop", "stop", "advise")),
        question=st.integers(0, 1),
        least=st.integers(1, 2),
        there=st.sampled_from((True, True, False)),
    )
    def change_the_policy(self, identity: str, mode: str, question: int, least: int, there: bool) -> None:
        entry = Entry(mode, question, least if identity == STORY else None)
        entries = dict(self.model.tip.policy) | {identity: entry}
        policy = tuple((name, one) for name, one in sorted(entries.items()) if there or name != identity)
        self.advance(evolve(self.model.tip, policy=policy))

    @rule()
    def update_by_merge(self) -> None:
        if self.model.candidate.dirty:
            self.commit()
        self.repo.git("merge", "--quiet", "--no-ff", "--no-edit", "--strategy-option", "ours", "main")
        self.repo.tick()
        self.model.candidate = self.model.candidate.merged(self.model.tip, next(self.numbers))

    @rule()
    def rebase(self) -> None:
        """Every commit is written anew, also where the trunk stands still; merges are left out."""
        if self.model.candidate.dirty:
            self.commit()
        kept = ("--force-rebase", "--empty=keep", "--reapply-cherry-picks", "--strategy-option", "theirs")
        self.repo.git("rebase", "--quiet", *kept, "main")
        self.repo.tick()
        self.model.candidate = self.model.candidate.rebased(self.model.tip, self.numbers)

    # What discern is asked and told.

    @rule(only=st.sampled_from(((), (), (PLAIN,), (STORY,))))
    def evaluate(self, only: tuple[str, ...] = ()) -> None:
        known = asked(self.model.candidate)
        if not set(only) <= known.keys():
            return
        result = self.evaluated(ids=only, dry_run=False)
        states = self.model.states()
        assert states_of(result) == {name: state for name, state in states.items() if not only or name in only}
        left = {name: pair for name, pair in self.model.served.items() if only and name not in only}
        self.model.served = left | {name: known[name] for name in states_of(result) if known[name] is not None}
        if not only:
            proof = json.loads((self.repo.path / ".git/discern/proof.json").read_bytes())
            assert proof["predicate"]["reusable"] == (not {"awaiting", "reopened"} & set(states.values()))

    @rule(identity=st.sampled_from((PLAIN, STORY)), verdict=st.sampled_from(("met", "unmet")))
    def declare(self, identity: str, verdict: str) -> None:
        """On what the last evaluation served, whatever was done since; refused if that was nothing (spec 8.3)."""
        why = [] if verdict == "met" else ["--why", "Not yet."]
        words, out, err = ["declare", "--root", str(self.repo.path), identity, f"--{verdict}", *why], io.StringIO(), io.StringIO()
        status = run(words, stdout=out, stderr=err, environment=self.repo.environment)
        assert status == (0 if identity in self.model.served else 2), err.getvalue()
        if status == 0:
            self.model.words.append((identity, self.model.served[identity], verdict))
            self.judged.append((self.repo.rev("HEAD"), self.repo.ask("write-tree"), self.model.candidate))

    @rule(identity=st.sampled_from((PLAIN, STORY)), verdict=st.sampled_from(("met", "unmet")))
    def evaluate_and_declare(self, identity: str, verdict: str) -> None:
        self.evaluate()
        self.declare(identity, verdict)

    @rule(which=st.integers(0, 9))
    def go_back(self, which: int) -> None:
        """To exactly what there was when a word was given: the commit, what was added to the index, and what was not."""
        if self.judged:
            commit, index, candidate = self.judged[which % len(self.judged)]
            self.repo.git("reset", "--quiet", "--hard", commit)
            self.repo.git("clean", "--quiet", "-d", "--force")
            wanted = files(candidate.base, candidate.branch)
            there = {path for path in (OWN, "src/moved.txt", "docs/own.txt", NEW) if self.repo.at(path).exists()}
            self.write(wanted, there - wanted.keys())
            self.repo.git("read-tree", index)
            self.model.candidate = candidate

    def evaluated(self, *, ids: tuple[str, ...] = (), dry_run: bool = True) -> Result:
        return evaluate(self.repo.path, ids=ids, dry_run=dry_run, environment=self.repo.environment).unwrap()

    @invariant()
    def every_question_stands_as_the_model_says(self) -> None:
        result, states = self.evaluated(), self.model.states()
        assert states_of(result) == states
        assert result.drops == ()
        assert result.blocking == bool({"awaiting", "reopened"} & set(states.values()))


def states_of(result: Result) -> dict[str, str]:
    return {one.definition.id: one.state for one in result.checkpoints}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as every life begins: one commit on the trunk, a branch on it."""
    place = tmp_path_factory.mktemp("template")
    begun = {path: text for path, (_, text) in files(Trunk(), Branch()).items() if path != "discern.toml"}
    begin(place, policy_text(Trunk(), Branch()), begun, options=("--template=",))
    return place


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_question_stands_as_what_it_judged_stands(template: Path, effort: settings) -> None:
    """spec 8.1 to 8.4: over any sequence of edits, commits, rewrites, trunk and policy changes, evaluations and declarations."""
    run_state_machine_as_test(lambda: Life(template), settings=effort)


def test_one_life_and_where_its_questions_stand(template: Path) -> None:
    """spec 8.2: what moves a question and what does not, step by step; the model is held to these words too."""
    life = Life(template)
    story_asks_for_two = (STORY, "stop", 0, 2, True)
    for step, plain, story in (
        (lambda: life.edit_matched(1), "awaiting", "none"),  # min_commits: uncommitted work counts nothing
        (life.commit, "awaiting", "awaiting"),
        (lambda: life.evaluate_and_declare(PLAIN, "met"), "declared_met", "awaiting"),
        (lambda: life.declare(STORY, "unmet"), "declared_met", "declared_unmet"),
        (lambda: life.edit_unrelated(1), "declared_met", "declared_unmet"),
        (life.commit, "declared_met", "reopened"),
        (lambda: life.go_back(0), "declared_met", "declared_unmet"),
        (life.update_by_merge, "declared_met", "declared_unmet"),  # the trunk stands still
        (life.amend, "declared_met", "reopened"),
        (lambda: life.evaluate_and_declare(STORY, "met"), "declared_met", "declared_met"),
        (lambda: life.advance_the_trunk_elsewhere(1), "declared_met", "declared_met"),
        (lambda: life.advance_the_trunk_in_what_is_matched(1, "head"), "declared_met", "declared_met"),
        (lambda: life.advance_the_trunk_in_what_is_matched(1, "far"), "declared_met", "declared_met"),
        (life.update_by_merge, "declared_met", "reopened"),  # what the branch did not touch is no change of its own
        (lambda: life.evaluate_and_declare(STORY, "met"), "declared_met", "declared_met"),
        (life.rebase, "declared_met", "reopened"),
        (lambda: life.go_back(2), "declared_met", "declared_met"),
        (lambda: life.edit_what_the_trunk_edits_too(1), "reopened", "reopened"),
        (lambda: life.evaluate_and_declare(PLAIN, "met"), "declared_met", "reopened"),
        (lambda: life.advance_the_trunk_in_what_is_matched(2, "head"), "declared_met", "reopened"),
        (life.update_by_merge, "reopened", "reopened"),  # the base of a matched path moved
        (lambda: life.evaluate_and_declare(PLAIN, "unmet"), "declared_unmet", "reopened"),
        (lambda: life.change_mode("100755"), "reopened", "reopened"),
        (life.stage, "reopened", "reopened"),
        (lambda: life.change_mode("100644"), "declared_unmet", "reopened"),
        (lambda: life.rename("src/moved.txt"), "reopened", "reopened"),
        (life.stage, "reopened", "reopened"),
        (lambda: life.rename(OWN), "reopened", "reopened"),  # it lies there again, and is tracked no more
        (life.stage, "declared_unmet", "reopened"),
        (lambda: life.add_or_remove_a_file(1), "reopened", "reopened"),
        (lambda: life.evaluate_and_declare(PLAIN, "met"), "declared_met", "reopened"),
        (life.commit, "declared_met", "reopened"),  # adding and committing a file moves nothing of it
        (lambda: life.add_or_remove_a_file(None), "declared_unmet", "reopened"),
        (lambda: life.edit_the_rules_on_the_branch(1), "declared_unmet", "reopened"),
        (lambda: life.change_the_policy(PLAIN, "stop", 1, 1, True), "declared_unmet", "reopened"),
        (life.rebase, "reopened", "reopened"),  # the rule moved, now that it governs
        (lambda: life.change_the_policy(PLAIN, "stop", 0, 1, True), "reopened", "reopened"),
        (life.update_by_merge, "declared_unmet", "reopened"),
        (lambda: life.change_the_policy(PLAIN, "advise", 0, 1, True), "declared_unmet", "reopened"),
        (lambda: life.change_the_policy(*story_asks_for_two), "declared_unmet", "reopened"),
        (life.rebase, "none", "reopened"),
        (lambda: life.declare(PLAIN, "met"), "none", "reopened"),  # what the last evaluation served can still be answered
        (life.evaluate, "none", "reopened"),
        (lambda: life.declare(PLAIN, "met"), "none", "reopened"),  # refused: it asks nothing
        (lambda: life.change_the_policy(PLAIN, "stop", 0, 1, True), "none", "reopened"),
        (life.update_by_merge, "declared_unmet", "reopened"),
        (life.evaluate, "declared_unmet", "reopened"),
        (lambda: life.change_the_policy(PLAIN, "stop", 0, 1, False), "declared_unmet", "reopened"),
        (life.update_by_merge, None, "reopened"),
        (lambda: life.evaluate((STORY,)), None, "reopened"),
        (lambda: life.declare(PLAIN, "met"), None, "reopened"),  # a run with ids leaves what others were asked
        (life.evaluate, None, "reopened"),
        (lambda: life.declare(PLAIN, "unmet"), None, "reopened"),  # refused: a whole run asks nobody else
        (lambda: life.change_the_policy(PLAIN, "stop", 0, 1, True), None, "reopened"),
        (life.update_by_merge, "declared_met", "reopened"),
        # The base of a path moves, and what the candidate has there does not.
        (lambda: life.overrule_the_trunk(2), "reopened", "reopened"),
        (lambda: life.evaluate_and_declare(PLAIN, "met"), "declared_met", "reopened"),
        (lambda: life.advance_the_trunk_in_what_is_matched(0, "far"), "declared_met", "reopened"),
        (life.update_by_merge, "reopened", "reopened"),
    ):
        step()
        life.every_question_stands_as_the_model_says()
        assert life.model.states() == {name: state for name, state in ((PLAIN, plain), (STORY, story)) if state is not None}
    life.teardown()
