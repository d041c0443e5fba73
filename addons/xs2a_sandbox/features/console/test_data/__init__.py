"""Creates test data with the forms of the page Bank, and saves it as a file."""

from xs2a_sandbox.features.console.test_data.forms import MOST_ENTRIES, FieldError, create, show_forms
from xs2a_sandbox.features.console.test_data.saving import read_changes, saved_test_data

__all__ = ("MOST_ENTRIES", "FieldError", "create", "read_changes", "saved_test_data", "show_forms")
