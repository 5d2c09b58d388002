"""Gibbs-Appell recursions (Korayem & Shafei 2009)."""
