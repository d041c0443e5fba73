"""The attack: raw cases as data, what must happen, and what runs them against a real `serve`."""
