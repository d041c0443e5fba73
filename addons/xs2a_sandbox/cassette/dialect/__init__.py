"""A bank's interface, put together from the files of a dialect, what it extends, quirks, and the user's own cassettes.

`layers` makes it and checks it as one, `foundation` takes what a dialect extends and changes it.
"""
