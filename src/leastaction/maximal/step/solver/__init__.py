"""Solving a step: Newton, semismooth Newton, Newton around the contact problem, and the interior point method."""
