"""Elastic parts of links: shape functions, integrals and damping, of constant or sliding length."""
