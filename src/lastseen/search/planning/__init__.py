"""From what is known to what to do next: prompts, strict parsing, checks and the one Decision they end in."""
