"""Numbers to validate against: published ones and ones derived anew by another method.

Each is kept as printed, so that its digits say how exact it is.  Dimensionless where nothing else
is said: lengths in L, times in T = sqrt(rhoA L^4/EI).
"""

from dataclasses import dataclass

DETERMINANT = "frequency equation, 40 digits"
RITZ = "Ritz, 24 functions, and Frobenius series"
ELEMENTS = "Hermite elements, assembled by hand"
SIMO = "geometrically exact beam; data of Simo & Vu-Quoc 1986, Kane, Ryan & Banerjee 1987"
FRAME = "shear-flexible elements, extrapolated; data of Simo & Vu-Quoc 1988"
SECOND = "second-order theory; the same data"
ASSEMBLY = "beam assembly, converged"
DELUCA = "De Luca & Siciliano 1991"
USORO = "Usoro, Nadira & Mahil 1986; Korayem & Shafei 2009"
TG = "Theodore & Ghosal 1995"
CHEN = "Chen, Zhang & Liu 2012"
GU, TOKHI, SPONG = "Gu et al., link", "Tokhi & Azad, link", "Spong 1987"
DEPLOYING = "similarity solution of a deploying cantilever"
LAGRANGE = "Lagrange's equations of the material points"
SECOND_ORDER = "second-order theory: kinetic energy cut, bending energy quadratic"
EXACT_BEAM = "exact inextensible beam"
CIRCLE = "circle that a moment at the tip bends a cantilever to"
EXACT_STRETCHED = "geometrically exact beam"
CORKE = "Corke & Armstrong-Helouvry 1994"


@dataclass(frozen=True)
class Printed:
    """Numbers of one case: where they come from, and as they are printed."""

    source: str
    numbers: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The single numbers."""
        return tuple(self.numbers.split())

    @property
    def values(self) -> tuple[float, ...]:
        """The single numbers' values."""
        return tuple(map(float, self.texts))


def digits_apart(printed: str, ours: float) -> float:
    """Tell how far a number is from a printed one, in units of its last digit."""
    mantissa, _, exponent = printed.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return abs(ours - float(printed)) / 10.0 ** (int(exponent or 0) - decimals)


# lam of w'''' = lam^4 w, the first five.
EIGENVALUES = {
    "clamped-free": "1.87510406871 4.69409113297 7.85475743824 10.9955407349 14.137168391",
    "pinned-free": "3.92660231205 7.06858274563 10.2101761228 13.3517687778 16.4933614313",
    "free-free": "4.73004074486 7.8532046241 10.995607838 14.1371654913 17.2787596574",
    "tip M=0.1": "1.72274152059 4.39952281616 7.4510566733 10.521784756 13.6141876601",
    "tip M=0.5": "1.41996442977 4.11113338642 7.19033524196 10.2984454428 13.4210015533",
    "tip M=1": "1.24791740961 4.03113943671 7.13413224094 10.2566210737 13.387756326",
    "tip M=10": "0.73578191939 3.93846583325 7.07561636703 10.2150464784 13.35549859",
    "tip M=1 J=0.1": "1.19566983109 2.5050600194 4.97509843779 7.98397195195 11.0854983124",
    "tip M=1 J=1": "0.931611384112 1.841350633 4.90087315384 7.9663933966 11.0789337762",
    "tip M=0 J=0.1": "1.57707087182 2.64823766863 5.52862709336 8.64716906775 11.7840374103",
    "hub Jh=0.1": "2.6389246963 4.79377085046 7.87565294278 11.0031041617 14.1407175257",
    "hub Jh=1": "2.01000332237 4.70379426228 7.85682355122 10.9962933756 14.1375224159",
    "hub Jh=10": "1.89007648042 4.69505830666 7.85496381319 10.9956159619 14.1372037847",
    "spring kap=1": "1.24791740961 4.03113943671 7.13413224094 10.2566210737 13.387756326",
    "spring kap=100": "1.85678697696 4.64972648342 7.78267123973 10.8975884253 14.0148605648",
    "rotor jm=0.1 kap=10": "2.4539839136 4.4512424251 7.4576819013 10.523375988",
    "rotor jm=1 kap=10": "1.8489363185 4.4044437698 7.4517113625 10.521943253",
}
# beta of rods, omega = beta c/L.
RODS = {
    0.0: "1.57079632679 4.71238898038 7.85398163397",
    0.1: "1.42887001121 4.30580141312 7.22810977163",
    1.0: "0.860333589019 3.42561845948 6.43729817917",
}
# omega T of a clamped beam in n elements.
MESHES = {
    1: "3.53273154 34.80689311",
    2: "3.51771504 22.22147447 75.15708306 218.13802456",
    3: "3.51637158 22.1068592 62.46598194 140.67105181 264.74330667 527.7961561",
    8: "3.51602259 22.03625342 61.73474119",
}
# Table 1 of Theodore & Ghosal, exact column to more digits than printed, in rad/s.
TG_EXACT = "208.637 1307.506 3661.054 7174.205 11859.474"
TG_MESHES = {1: "209.63 2065.4", 2: "208.73 1318.6 4459.7 12944", 3: "208.64 1311.8 3706.7"}

# Frequencies at speeds 0 to 12 by (plane, mode, hub radius): z is flap, y is lag.
SPEEDS = (0, 2, 4, 6, 8, 10, 12)
ROTATING = {
    ("z", 1, 0): "3.516015 4.137320 5.585001 7.360373 9.256838 11.202328 13.170150",
    ("z", 2, 0): "22.034492 22.614922 24.273349 26.809082 29.995382 33.640366 37.603112",
    ("y", 1, 0): "3.516015 3.621797 3.897723 4.263225 4.657150 5.048975 5.427049",
    ("y", 2, 0): "22.034492 22.526311 23.941501 26.129042 28.908873 32.119686 35.636976",
    ("z", 1, 1): "3.516015 4.833689 7.475048 10.443866 13.507389 16.606363 19.721542",
    ("z", 2, 1): "22.034492 23.366042 26.957262 32.027244 37.953793 44.368224 51.070134",
    ("y", 1, 1): "3.516015 4.400517 6.314772 8.548353 10.883454 13.257876 15.650534",
    ("y", 2, 1): "22.034492 23.280290 26.658844 31.460203 37.101084 43.226604 49.640292",
    ("z", 1, 2): "3.516015 5.439949 8.966379 12.788142 16.685899 20.611190 24.549082",
    ("y", 1, 2): "3.516015 5.058956 8.024709 11.293210 14.643060 18.022796 21.416289",
}
TIP_MASS_SPEEDS = (2, 6, 12)
TIP_MASS = {"z": "2.669637 6.509056 12.481373", "y": "1.768321 2.523452 3.432880"}
CRITICAL = "3.5160152685"
STRETCHING = {2: "3.619566", 10: "4.970022"}  # sqrt(EA L^2/EI) = 70
STRETCHED = {10: "4.94872"}  # about the stretched state

SPIN_UP = {
    "first frequency [rad/s]": Printed(SIMO, "3.797731"),
    "largest tip deflection [m]": Printed(SIMO, "-0.57384"),
    "its time [s]": Printed(SIMO, "6.763"),
    "axial displacement then [m]": Printed(SIMO, "-0.018823"),
    "steady extension [m]": Printed(SIMO, "5.142857e-4"),
    "largest tip deflection [m] and its time [s]": Printed(SECOND, "-0.574373 6.762"),
    "tip deflection at 5, 10, 15 s [m]": Printed(SECOND, "-0.468782 -0.362849 0.001298"),
    "without stiffening, 5, 7.5, 10 s [m]": Printed(SECOND, "-0.5218 -1.4645 -72.0"),
}

# Position of the tip [m] by time [s], extrapolated from 20 and 40 elements per link.
RIGHT_ANGLE = {
    2: "10.1064 9.3079 0.0694",
    3: "10.7886 8.9384 1.5069",
    5: "9.4598 8.9379 5.4787",
    7: "8.9732 7.5596 8.0050",
    8: "10.0239 7.3548 7.9607",
    10: "10.0049 8.0298 4.4632",
}

# Of link 1 with all that it carries taken as rigid, by elbow angle [deg]; of link 2.
DELUCA_LINK_1 = {0: "0.440983 1.985852", 90: "0.479693 1.796589", 180: "0.530751 1.654051"}
DELUCA_LINK_2 = "2.178334 15.914513"
DELUCA_ARM = {
    ("locked", 0): "0.43813358 1.97279852 2.66890523 16.11784649",
    ("locked", 90): "0.47795919 1.69143003 2.6778509 15.95029213",
    ("free", 0): "1.41985879 2.64733717 16.1170027 22.1256768",
    ("free", 90): "1.42099817 2.51277461 15.95011574 22.10502486",
}
USORO_LINK = "7.913815 49.595031 138.867522"
USORO_ARM = {
    ("locked", 0): "1.9784537 12.3987577 34.7168805",
    ("locked", 90): "2.6374331 7.1821061 35.4602947",
    ("free", 5): "25.8932471 44.5525003 96.3077584",
}
TG_LINK_3 = {0.3: "175.6187 1720.119", 0.65: "49.04398 385.0750", 1.0: "23.38656 168.5833"}
CHEN_LINK = "3.242543 20.32067 56.89847"
CHEN_CRITICAL = "20.3735"
CHEN_TORSION = {"total": "208.479", "per metre": "78.186"}
CHEN_TWIST = "5.40530e-3"
GU_LINK = "1.921906 15.786739"
TOKHI_HUB, TOKHI_CLAMPED = "13.310354 35.106485 64.818549", "3.266962 20.4737 57.3270"
SPONG_JOINT = {"free": "14.142136", "locked": "10"}

DEPLOYED = {
    "tip at twice the length, K=1": "-1.07923076",
    "Im s, K=1": "3.51864837",
    "Im s, K=100": "35.1604404",
    "Im s without the axial inertia force, K=1": "3.2888179",
    "energy lost over V EI w''(root)^2/2, V=0.5": "1.0000",
    "Re s, K=1": "0.5",
}

PENDULUM = {
    0.5: "0.448142625932 1.041962887304 -2.414308312648 -5.949104936118",
    1.0: "-1.207716238191 -0.814391023091 -3.406517532972 -0.516045472105",
}
SMALL_SWINGS = "2.68011401 7.18867087"
# th1 + 90 deg, th2 [rad], w1, w2 [m] by kinematics and time [s]; at
# deflections as small as here exact links move as those of the series do.
FALL = {
    ("exact rotation", 0.25): "0.02482359 -0.00839291 -2.29662e-5 -5.18977e-6",
    ("exact rotation", 0.5): "0.02801982 -0.06679578 -1.80845e-5 4.64080e-5",
    ("exact rotation", 1.0): "-0.03770010 0.03885381 -5.12707e-5 -5.48509e-5",
    ("series", 0.5): "0.02800680 -0.06672539 -8.8683e-6 -2.90860e-5",
    ("exact links", 0.5): "0.02800680 -0.06672539 -8.8683e-6 -2.90860e-5",
    ("first-order rotation", 0.5): "0.02802778 -0.06679272 -2.66202e-5 4.83269e-5",
}
# Hub angle [rad], tip deflection in the hub's frame [m]; energy [J].
DRIVEN = {
    "angle and tip, 0.25 s": Printed(LAGRANGE, "0.152223 -0.012097"),
    "angle and tip, 0.5 s": Printed(LAGRANGE, "0.603943 -0.040775"),
    "angle and tip, 1 s": Printed(LAGRANGE, "1.156049 -0.00202"),
    "energy, 1 s": Printed(LAGRANGE, "0.10367"),
    "without stiffening, 0.5 s": Printed(LAGRANGE, "0.606926 -0.047550"),
    "tip, 0.5 s": Printed(EXACT_BEAM, "-0.040752"),
    "angle, 1 s": Printed(EXACT_BEAM, "1.156089"),
    "energy, 1 s, exact": Printed(EXACT_BEAM, "0.10354"),
    "payload of 0.25 kg, tip, 0.25 s": Printed(EXACT_BEAM, "-0.048552"),
    "cut energies, 0.25 s": Printed(SECOND_ORDER, "0.1521726 -0.0120245"),
    "cut energies, 0.5 s": Printed(SECOND_ORDER, "0.603783 -0.040580"),
}
PUMA = {
    "gravity": "31.63988 6.035138 0.028253",
    "M11 M12 M13": "3.659375 -0.404361 0.100614",
    "M22 M23 M33": "4.413742 0.350891 0.937842",
    "M44 M55 M66": "0.192532 0.171348 0.194105",
}

# Multiplications and additions by links, flexible links, modes.
BOOK = {(2, 2, 2): (3755, 3665), (3, 2, 2): (4922, 4851), (6, 6, 2): (25251, 24569),
        (6, 6, 3): (34593, 33653)}  # fmt: skip
KORAYEM = {(2, 2, 2): (1119, 932), (3, 2, 2): (2706, 2134), (6, 6, 2): (19557, 18332),
           (6, 6, 3): (26508, 26966)}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One case: its numbers, ours, how they were had, and why they differ where they should."""

    case: str
    printed: Printed
    ours: tuple[float, ...]
    how: str
    why: str = ""

    @property
    def difference(self) -> float:
        """The largest relative difference."""
        pairs = zip(self.printed.values, self.ours, strict=True)
        return max(abs(x / y - 1) if y else abs(x) for y, x in pairs)

    @property
    def agreeing(self) -> int:
        """How many numbers round to what is printed."""
        pairs = zip(self.printed.texts, self.ours, strict=True)
        return sum(digits_apart(text, x) <= 0.51 for text, x in pairs)

    @property
    def agrees(self) -> bool:
        """Whether every number rounds to what is printed."""
        return self.agreeing == len(self.ours)
