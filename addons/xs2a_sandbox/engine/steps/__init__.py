"""The steps between the doors and the destination. Requests pass them downwards, answers upwards."""
