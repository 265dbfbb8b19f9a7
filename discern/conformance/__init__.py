"""The conformance suite, and what answers and drives it (spec 10)."""
