"""Makes cassettes from a recording: rules that answer as recorded, or a dialect that answers like the recorded bank."""
