"""The interface of integrators: settings, steppers, records, and which there are."""
