"""What a person sees: one module a view, each a pure function from records to text."""
