#!/usr/bin/env python3
"""A second evaluator of conformance cases, written from the contract alone and as naively as it can be.

It shares no line and no idea with the package: plain dictionaries, straight loops, exceptions, no records, no bit sets. What both
say of a case is then worth something. It reads one case on standard input, or with `--jsonl` one a line (contract 10.2).
"""

import base64
import hashlib
import json
import sys

from second_case import MalformedError, read_case
from second_dialect import raw
from second_policy import PolicyError, resolve
from second_stages import is_text, judge

MEMBERS = ("outcome", "vetoed_by", "matched", "related", "reason", "detail", "changed_files")


def path_value(path):
    return path if is_text(path) else {"bytes": base64.b64encode(raw(path)).decode()}


def definition_hash(definition):
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(b"discern-definition/v1\n" + text.encode()).hexdigest()


def evaluate(case):
    """A case as `read_case` gives it; the answer of 10.2."""
    facts = case["facts"]
    try:
        definitions, generated = resolve(case["policy"], case["files"])
    except PolicyError:
        return {"results": {}, "policy_drop": "governing_config_invalid"}
    fingerprint = None
    if not facts["history_reason"]:
        fingerprint = hashlib.sha256(("checkpoint-history/v1\n" + "\n".join(facts["commits"])).encode()).hexdigest()
    results = {}
    for name, definition in definitions.items():
        row = dict.fromkeys(MEMBERS) | {"definition_hash": None, "history_fingerprint": fingerprint}
        if type(definition) is str:
            row.update(outcome="dropped", reason=definition)
        else:
            row.update(judge(definition, facts, generated, case["when"].get(name)), definition_hash=definition_hash(definition))
        if row["matched"] is not None:
            row["matched"] = [path_value(path) for path in row["matched"]]
            row["related"] = [r | {"for_path": path_value(r["for_path"]), "path": path_value(r["path"])} for r in row["related"]]
        results[name] = row
    return {"results": results, "policy_drop": None}


def answer(data):
    """The bytes of a case to the answer of 10.2, or `{"error": …}`."""
    try:
        return evaluate(read_case(data))
    except MalformedError as why:
        return {"error": str(why)}


def main():
    sys.setrecursionlimit(20_000)  # a pattern may have some thousand segments
    if "--jsonl" in sys.argv[1:]:
        for line in sys.stdin.buffer:
            print(json.dumps(answer(line)), flush=True)
        return 0
    result = answer(sys.stdin.buffer.read())
    if "error" in result:
        print(f"malformed case: {result['error']}", file=sys.stderr)
        return 2
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
