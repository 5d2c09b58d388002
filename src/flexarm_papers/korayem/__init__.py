"""Korayem & Shafei 2009."""
