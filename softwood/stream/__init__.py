"""Streams: trees that learn from endless, drifting streams, and what goes with them."""
