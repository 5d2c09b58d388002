"""Closed-form equations of small arms: polynomials in named quantities that can be printed."""
