"""The closed words of the contract: fields, modes, kinds, vetoes, reasons, limits. Each is written here and nowhere else."""

from __future__ import annotations

from typing import Final, Literal, get_args

Role = Literal["selector", "trigger", "review", "question source"]
Mode = Literal["stop", "advise"]
Kind = Literal["added", "modified", "deleted"]
OutcomeName = Literal["fired", "vetoed", "passed", "dropped", "indeterminate", "undecided"]
State = Literal["none", "awaiting", "declared_met", "declared_unmet", "reopened", "unknown"]
FailOn = Literal["awaiting", "unmet", "advise", "drops", "never"]

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FAIL_ON: Final[tuple[FailOn, ...]] = get_args(FailOn)
STATES: Final[tuple[State, ...]] = get_args(State)
OPEN_STATES: Final[tuple[State, ...]] = ("awaiting", "reopened", "unknown")  # a question that waits for a word (spec 8.1)

# Every public field of a `[checkpoints.<id>]` entry, and what it is for (spec 2.1). Parsing, seeds, hashing, summaries,
# evaluation and tests each keep a table of their own by these names; tests/test_registry.py holds the tables against this one.
CHECKPOINT_FIELD_ROLES: Final[dict[str, Role]] = {
    "scope": "selector",
    "paths": "selector",
    "include_generated": "trigger",
    "exclude_paths": "trigger",
    "kinds": "trigger",
    "adds_matching": "trigger",
    "removes_matching": "trigger",
    "new_directory": "trigger",
    "binary": "trigger",
    "similar_new_file": "trigger",
    "unless_changed": "trigger",
    "min_changed_files": "trigger",
    "min_changed_lines": "trigger",
    "deletion_dominant": "trigger",
    "min_commits": "trigger",
    "when": "trigger",
    "mode": "review",
    "question": "question source",
    "question_file": "question source",
    "teach": "review",
    "reference": "review",
}

# The names of the first three vetoes tell why nothing was left (spec 5.1); the others are the step's own name.
VetoName = Literal[
    "generated_only",
    "empty_matched_set",
    "excluded_only",
    "kinds",
    "adds_matching",
    "removes_matching",
    "new_directory",
    "binary",
    "similar_new_file",
    "unless_changed",
    "min_changed_files",
    "min_changed_lines",
    "deletion_dominant",
    "min_commits",
]
VETOES: Final[tuple[VetoName, ...]] = get_args(VetoName)

# Why a fact is not to be had (spec 4.4, 4.6, 4.8, 4.10) or too large to be judged (spec 5.3).
FileReason = Literal["not_regular", "unreadable", "file_limit", "total_bytes", "line_limit", "line_count", "inconsistent"]
HistoryReason = Literal["output_limit", "shallow", "git_failed", "inconsistent"]
BaseReason = Literal["git_failed", "inconsistent"]
FactReason = Literal[
    "not_regular",
    "unreadable",
    "file_limit",
    "total_bytes",
    "line_limit",
    "line_count",
    "inconsistent",
    "output_limit",
    "shallow",
    "git_failed",
]
FILE_REASONS: Final[tuple[FileReason, ...]] = get_args(FileReason)
HISTORY_REASONS: Final[tuple[HistoryReason, ...]] = get_args(HistoryReason)
BASE_REASONS: Final[tuple[BaseReason, ...]] = get_args(BaseReason)

PolicyReason = Literal[
    "merge_base_unresolved",
    "governing_config_unreadable",
    "governing_config_invalid",
    "question_store_unreadable",
    "question_store_corrupt",
]
EntryReason = Literal[
    "checkpoint_definition_invalid",
    "checkpoint_selector_conflict",
    "checkpoint_unknown_scope",
    "checkpoint_missing_question",
    "checkpoint_question_file_unavailable",
]
TriggerReason = Literal["trigger_content_unavailable", "trigger_history_unavailable", "trigger_base_unavailable"]
WhenReason = Literal[
    "when_invalid_exit",
    "when_spawn_failed",
    "when_input_failed",
    "when_timeout",
    "when_output_limit",
    "when_cancelled",
    "when_input_cleanup_failed",
]
DropReason = PolicyReason | EntryReason | TriggerReason | WhenReason | Literal["effort_diff_unreadable", "subject_unavailable"]
ENTRY_REASONS: Final[tuple[EntryReason, ...]] = get_args(EntryReason)
TRIGGER_REASONS: Final[tuple[TriggerReason, ...]] = get_args(TriggerReason)
WHEN_REASONS: Final[tuple[WhenReason, ...]] = get_args(WhenReason)

KIB: Final = 1024
MIB: Final = 1024 * KIB

CONFIG_LIMIT: Final = 1 * MIB  # bytes of discern.toml (spec 1.3)
QUESTION_FILE_LIMIT: Final = 64 * KIB  # bytes (spec 2.3)
PATTERNS_LIMIT: Final = 16  # content patterns in one field (spec 2.1)
PATTERN_BYTES_LIMIT: Final = 128  # UTF-8 bytes of one content pattern (spec 2.1)
THRESHOLD_LIMIT: Final = 2**53 - 1  # the largest integer every JSON reader agrees on (spec 2.1)
ALTERNATIVES_LIMIT: Final = 1_000  # of one path pattern, after brace expansion (spec 3)

FILE_LIMIT: Final = 262_144  # bytes of one file's changed lines (spec 4.6)
TOTAL_LIMIT: Final = 2_097_152  # bytes of all files' changed lines (spec 4.6)
LINE_LIMIT: Final = 8_192  # bytes of one line's payload (spec 4.6)
LINE_COUNT_LIMIT: Final = 65_536  # changed lines of all files (spec 4.6), and of one definition's evidence (spec 5.3)
BINARY_PREFIX: Final = 8_000  # a NUL in this many first bytes makes a file binary (spec 4.1)
COUNTING_LIMIT: Final = 64 * MIB  # bytes of untracked files read for their line count alone (spec 4.7)
HISTORY_LIMIT: Final = 4 * MIB  # bytes of `git rev-list` output (spec 4.10)
COMPARISON_LIMIT: Final = 67_108_864  # (payload + 1) × patterns over one definition's evidence (spec 5.3)
SUBJECT_FILE_LIMIT: Final = 256 * MIB  # bytes of a file that is hashed for a subject (spec 7.2)
DOMINANT_DELETIONS: Final = 50  # lines (spec 5.1, step 13)
DOMINANT_RATIO: Final = 2  # deletions to insertions (spec 5.1, step 13)

WHEN_FIRES: Final = 0  # exit status (spec 6.4)
WHEN_PASSES: Final = 10  # exit status (spec 6.4)
WHEN_SECONDS: Final = 10.0  # from the start of the command (spec 6.4)
WHEN_OUTPUT_LIMIT: Final = 262_144  # bytes of standard output and standard error together (spec 6.4)
WHEN_EXCERPT: Final = 160  # characters of output in an account (spec 6.8)
WHEN_INPUT_VARIABLE: Final = "DISCERN_CHECKPOINT_INPUT"  # spec 6.3
NESTED_VARIABLE: Final = "DISCERN_NESTED"  # set inside a `when` command, so that a nested run knows itself (spec 6.2)
MATCH_TOKEN: Final = b"DISCERN_MATCH"  # spec 6.6

ACCOUNT_LIMIT: Final = 500  # characters of a drop's account (spec 9.2)
RATIONALE_LIMIT: Final = 500  # characters of a declaration's rationale (spec 8.1)
JUDGEMENTS_LIMIT: Final = 100  # judged pairs kept for one checkpoint (spec 8.2)
LOGBOOK_LIMIT: Final = 8 * MIB  # bytes before the Logbook is rotated (spec 8.5)
