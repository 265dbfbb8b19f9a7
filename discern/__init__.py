"""Review checkpoints for a Git change."""
