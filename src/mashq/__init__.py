"""What does a factual answer cost? The reference implementation of the MAS-HQ protocol."""
