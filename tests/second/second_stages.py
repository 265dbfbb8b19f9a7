"""One definition over the facts, step by step (contract 5, 6)."""

import re

from second_dialect import any_matches, raw


class StopError(Exception):
    """The outcome before the end: a veto or a drop, as members of the result."""

    def __init__(self, **members):
        super().__init__(members)
        self.members = members


def veto(by):
    raise StopError(outcome="vetoed", vetoed_by=by)


def drop(reason, detail):
    raise StopError(outcome="dropped", reason=reason, detail=detail)


def require(evidence, *reasons):
    """Every named fact of every file in evidence, or a drop; `reasons` name the members that hold what is wrong."""
    for change in evidence:
        for reason in reasons:
            if change[reason]:
                drop("trigger_content_unavailable", change[reason])


def charge(definition, evidence):
    """The work of matching, before any of it is done (5.3)."""
    require(evidence, "content_reason")
    patterns = len(definition["adds_matching"] or []) + len(definition["removes_matching"] or [])
    lines = [line for change in evidence for side in ("added", "removed") for line in change[side]]
    if sum((len(payload) + 1) * times for payload, times in lines) * patterns > 67_108_864:
        drop("trigger_content_unavailable", "comparison_work")
    if sum(times for _, times in lines) > 65_536:
        drop("trigger_content_unavailable", "line_count")


def contains(lines, patterns):
    return any(pattern.encode() in payload for payload, _ in lines for pattern in patterns)


def split_name(path):
    """Directory, stem and extension."""
    directory, _, name = path.rpartition("/")
    dot = name.rfind(".")
    return (directory, name[:dot], name[dot:]) if dot > 0 else (directory, name, "")


WORD = re.compile(r"[-_. ](copy|new|old|final|backup|bak|tmp|temp|orig|original|next|alt|v[0-9]+|[0-9]+)\Z")


def normal_form(stem):
    form = "".join(chr(ord(char) + 32) if "A" <= char <= "Z" else char for char in stem)
    while True:
        if WORD.search(form):
            form = form[: WORD.search(form).start()]
        elif re.search(r"[a-z][0-9]\Z", form):
            form = form[:-1]
        else:
            return form


def siblings(path, base, gone):
    """What an added file is similar to (5.4)."""
    directory, stem, extension = split_name(path)
    form, found = normal_form(stem), []
    for other in base:
        if other not in gone and form:
            where, other_stem, other_extension = split_name(other)
            if (where, other_extension) == (directory, extension) and other_stem != stem and normal_form(other_stem) == form:
                found.append(other)
    return sorted(found, key=raw)


def directories(paths):
    found = set()
    for path in paths:
        names = path.split("/")
        found.update("/".join(names[:n]) for n in range(1, len(names)))
    return found


def narrow(definition, facts, admitted, universe, evidence):
    """Steps 4 to 9."""
    related = []
    if definition["kinds"]:
        evidence = [change for change in evidence if change["kind"] in definition["kinds"]] or veto("kinds")
    if definition["adds_matching"]:
        charge(definition, evidence)
        evidence = [c for c in evidence if contains(c["added"], definition["adds_matching"])] or veto("adds_matching")
    if definition["removes_matching"]:
        if not definition["adds_matching"]:
            charge(definition, evidence)
        evidence = [c for c in evidence if contains(c["removed"], definition["removes_matching"])] or veto("removes_matching")
    if definition["new_directory"]:
        evidence = [change for change in evidence if change["kind"] == "added"] or veto("new_directory")
        require_base(facts)
        known = directories(admitted) | {""}
        evidence = [c for c in evidence if split_name(c["path"])[0] not in known] or veto("new_directory")
    if definition["binary"] is not None:
        require(evidence, "binary_reason")
        evidence = [change for change in evidence if change["binary"] == definition["binary"]] or veto("binary")
    if definition["similar_new_file"]:
        evidence = [change for change in evidence if change["kind"] == "added"] or veto("similar_new_file")
        require_base(facts)
        gone = {change["path"] for change in universe if change["kind"] == "deleted"}
        found = [(change, siblings(change["path"], admitted, gone)) for change in evidence]
        related = [{"kind": "similar_existing", "for_path": c["path"], "path": path} for c, paths in found for path in paths]
        evidence = [change for change, paths in found if paths] or veto("similar_new_file")
    return evidence, related


def require_base(facts):
    if facts["base_reason"]:
        drop("trigger_base_unavailable", facts["base_reason"])


def check_thresholds(definition, facts, universe, evidence):
    """Steps 10 to 14."""
    if definition["unless_changed"] and any(any_matches(definition["unless_changed"], c["path"]) for c in universe):
        veto("unless_changed")
    if definition["min_changed_files"] and len(evidence) < definition["min_changed_files"]:
        veto("min_changed_files")
    insertions = sum(change["insertions"] for change in evidence)
    deletions = sum(change["deletions"] for change in evidence)
    if definition["min_changed_lines"]:
        require(evidence, "lines_reason")
        if insertions + deletions < definition["min_changed_lines"]:
            veto("min_changed_lines")
    if definition["deletion_dominant"]:
        require(evidence, "lines_reason")
        if deletions < 50 or deletions < 2 * insertions:
            veto("deletion_dominant")
    if definition["min_commits"]:
        if facts["history_reason"]:
            drop("trigger_history_unavailable", facts["history_reason"])
        if len(facts["commits"]) < definition["min_commits"]:
            veto("min_commits")


def structural(definition, facts, generated):
    """Steps 1 to 14: the evidence and what is related to it."""

    def authored(path):
        return definition["include_generated"] or not any_matches(generated, path)

    def kept(path):
        return not any_matches(definition["exclude_paths"] or [], path)

    selector, changes = definition["paths"], facts["changes"]
    evidence = [c for c in changes if selector is None or any_matches(selector, c["path"])] or veto("empty_matched_set")
    evidence = [c for c in evidence if authored(c["path"])] or veto("generated_only")
    evidence = [c for c in evidence if kept(c["path"])] or veto("excluded_only")
    universe = [c for c in changes if authored(c["path"]) and kept(c["path"])]
    admitted = [path for path in facts["base"] if authored(path) and kept(path)]
    evidence, related = narrow(definition, facts, admitted, universe, evidence)
    check_thresholds(definition, facts, universe, evidence)
    return evidence, related


def declared(output):
    """The paths of the match lines (6.6), as bytes."""
    paths = set()
    for line in output.split(b"\n"):
        found = re.search(rb"(?:\A|[ \t\r\v\f])DISCERN_MATCH[ \t\r\v\f](.*)\Z", line, re.DOTALL)
        if found:
            path = found[1].strip(b" \t\r\v\f")
            while path.startswith(b"./"):
                path = path[2:]
            if path and not path.startswith(b"/") and b".." not in path.split(b"/"):
                paths.add(path)
    return paths


def conclude(evidence, related, answer):
    """Section 6: what the scripted answer makes of the structural evidence."""
    require(evidence, "binary_reason", "lines_reason")
    members = {"outcome": "undecided", "matched": [change["path"] for change in evidence], "related": related}
    carried = all(is_text(path) for path in members["matched"])
    if carried:
        members["changed_files"] = [
            {key: c[key] for key in ("path", "kind", "insertions", "deletions", "binary")} for c in evidence
        ]
    if answer is None:
        return members
    reason = answer.get("failure", "when_invalid_exit") if carried else "when_input_failed"
    if carried and answer.get("exit") == 10:
        return {"outcome": "passed", "changed_files": members["changed_files"]}
    if not carried or answer.get("exit") != 0:
        return {**members, "outcome": "indeterminate", "reason": reason}
    said = declared(answer["output"])
    left = [path for path in members["matched"] if raw(path) in said] or members["matched"]
    return {**members, "outcome": "fired", "matched": left, "related": [r for r in related if r["for_path"] in left]}


def is_text(path):
    return not any(0xDC80 <= ord(char) <= 0xDCFF for char in path)


def judge(definition, facts, generated, answer):
    try:
        evidence, related = structural(definition, facts, generated)
        if definition["when"] is not None:
            return conclude(evidence, related, answer)
    except StopError as stop:
        return stop.members
    return {"outcome": "fired", "matched": [change["path"] for change in evidence], "related": related}
