"""Contacts of a step: detection, contacts that a step missed, and error messages of failed steps."""
