"""Equations of motion by Gibbs-Appell recursions (Korayem & Shafei 2009)."""
