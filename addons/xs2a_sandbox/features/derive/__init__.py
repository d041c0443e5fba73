"""From a recording to cassettes: rules that answer as recorded, or a dialect that answers like the recorded bank."""
