"""A bank's interface, put together from the files of a dialect, what it extends, quirks, and the user's own cassettes.

`layer_files` reads them, `layers` makes it and checks it as one (`references` the names in it, `error_table` its
errors, `overlap` which rules are in each other's way), `foundation` takes what a dialect extends and changes it.
"""
