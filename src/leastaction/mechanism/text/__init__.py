"""Mechanisms as text: JSON, summaries and pages."""
