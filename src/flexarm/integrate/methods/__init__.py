"""Integration methods, and their registry by name."""

from flexarm.integrate.method import Method
from flexarm.integrate.methods.dop853 import DOP853
from flexarm.integrate.methods.etd4 import ETD4
from flexarm.integrate.methods.rk4 import RK4
from flexarm.integrate.methods.rodas4 import RODAS4

METHODS: dict[str, Method] = {each.name: each for each in (ETD4, DOP853, RODAS4, RK4)}
