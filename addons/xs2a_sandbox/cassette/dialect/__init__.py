"""A bank's interface, merged from the files of a dialect, the dialect it extends, quirks, and the user's cassettes.

`layer_files` reads the files. `layers` merges and checks them (`references` checks the names, `error_table` the errors,
`overlap` rules that conflict). `foundation` reads the dialect that is extended, and changes it.
"""
