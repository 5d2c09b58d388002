/* What the units of FMI 2.0 and 3.0 share: variables by reference, and where the motion is.
 *
 * References: 0 time; from 1 the states, their rates, the inputs, the outputs, the event
 * indicators. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "@FILE@.h"

#if defined _WIN32
#define EXPORT __declspec(dllexport)
#elif defined __GNUC__
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

enum {
    STATES = @NAME@_STATES,
    RATES_AT = 1 + STATES,
    INPUTS_AT = RATES_AT + STATES,
    OUTPUTS_AT = INPUTS_AT + @NAME@_INPUTS,
    INDICATORS = @NAME@_INDICATORS,
    INDICATORS_AT = OUTPUTS_AT + @NAME@_OUTPUTS,
    END = INDICATORS_AT + INDICATORS
};

struct unit {
    struct @NAME@ arm;
    double tolerance;
};

static void unit_reset(struct unit *unit)
{
    @NAME@_start(&unit->arm);
    unit->tolerance = @TOLERANCE@;
}

static struct unit *unit_make(const char *given, const char *token)
{
    struct unit *unit = strcmp(given, token) == 0 ? malloc(sizeof *unit) : 0;
    if (unit)
        unit_reset(unit);
    return unit;
}

static void unit_begin(struct unit *unit, double t, int has_tolerance, double tolerance)
{
    unit->arm.t = t;
    unit->arm.since = 0.0;
    if (has_tolerance && tolerance > 0.0)
        unit->tolerance = tolerance;
}

/* Get values by reference; 1 if there is no such. */
static int unit_get(struct unit *unit, const unsigned *references, size_t count, double *values)
{
    struct @NAME@ *arm = &unit->arm;
    double y[@NAME@_OUTPUTS], z[INDICATORS + 1];
    int rated = 0, seen = 0, indicated = 0;
    for (size_t k = 0; k < count; ++k) {
        const unsigned r = references[k];
        if (r >= END)
            return 1;
        if (r >= RATES_AT && r < INPUTS_AT && !rated++)
            @NAME@_rate(arm, arm->t, arm->x, arm->f);
        if (r >= OUTPUTS_AT && r < INDICATORS_AT && !seen++)
            @NAME@_output(arm, y);
        if (r >= INDICATORS_AT && !indicated++) {
            @NAME@_indicators(arm, z);
            rated = 0; /* which it has overwritten */
        }
        values[k] = r == 0            ? arm->t
                    : r < RATES_AT    ? arm->x[r - 1]
                    : r < INPUTS_AT   ? arm->f[r - RATES_AT]
                    : r < OUTPUTS_AT  ? arm->u[r - INPUTS_AT]
                    : r < INDICATORS_AT ? y[r - OUTPUTS_AT]
                                        : z[r - INDICATORS_AT];
    }
    return 0;
}

/* Set states and inputs; 1 if another is to be set. */
static int unit_set(struct unit *unit, const unsigned *references, size_t count,
                    const double *values)
{
    for (size_t k = 0; k < count; ++k) {
        const unsigned r = references[k];
        if (r >= 1 && r < RATES_AT)
            unit->arm.x[r - 1] = values[k];
        else if (r >= INPUTS_AT && r < OUTPUTS_AT)
            unit->arm.u[r - INPUTS_AT] = values[k];
        else
            return 1;
    }
    return 0;
}

/* How rates, outputs and distances change along changes of states and inputs. */
static int unit_change(struct unit *unit, const unsigned *unknowns, size_t unknown_count,
                       const unsigned *knowns, size_t known_count, const double *seed,
                       double *change)
{
    double dx[STATES], du[@NAME@_INPUTS + 1], rate[STATES], y[@NAME@_OUTPUTS], still[STATES];
    memset(dx, 0, sizeof dx);
    memset(du, 0, sizeof du);
    memset(still, 0, sizeof still);
    for (size_t k = 0; k < known_count; ++k) {
        const unsigned r = knowns[k];
        if (r >= 1 && r < RATES_AT)
            dx[r - 1] += seed[k];
        else if (r >= INPUTS_AT && r < OUTPUTS_AT)
            du[r - INPUTS_AT] += seed[k];
        else
            return 1;
    }
    @NAME@_change(&unit->arm, dx, du, rate, y);
    for (size_t k = 0; k < unknown_count; ++k) {
        const unsigned r = unknowns[k];
        if (r >= 1 && r < RATES_AT)
            change[k] = dx[r - 1];
        else if (r >= RATES_AT && r < INPUTS_AT)
            change[k] = rate[r - RATES_AT];
        else if (r >= OUTPUTS_AT && r < INDICATORS_AT)
            change[k] = y[r - OUTPUTS_AT];
        else if (r >= INDICATORS_AT && r < INDICATORS_AT + @NAME@_BOUNDS)
            change[k] = @NAME@_distance((int)(r - INDICATORS_AT), dx)
                        - @NAME@_distance((int)(r - INDICATORS_AT), still);
        else
            return 1;
    }
    return 0;
}

/* Whether something is to happen that no importer has found: 1 to ask for it. */
static int unit_due(struct unit *unit)
{
    double z[INDICATORS + 1];
    if (INDICATORS > @NAME@_BOUNDS)
        @NAME@_indicators(&unit->arm, z);
    for (int k = @NAME@_BOUNDS; k < INDICATORS; ++k)
        if (z[k] < 0.0)
            return 1;
    return 0;
}

/* The error per step that keeps a run of some vibrations within the tolerance. */
static int unit_step(struct unit *unit, double t_end)
{
    return @NAME@_dop853(&unit->arm, t_end, 0.01 * unit->tolerance);
}

/* What both versions declare alike. */
enum { OK, WARNING, DISCARD, ERROR_, FATAL, PENDING };
#define UNIT ((struct unit *)c)
#define DECLARED(name, parameters) \
    EXPORT int name parameters;    \
    EXPORT int name parameters

EXPORT void FMI(FreeInstance)(void *c);
EXPORT void FMI(FreeInstance)(void *c) { free(c); }

DECLARED(FMI(SetDebugLogging), (void *c, FLAG on, size_t n, const char *const *categories))
{
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}
DECLARED(FMI(ExitInitializationMode), (void *c)) { @NAME@_update(&UNIT->arm); return OK; }
DECLARED(FMI(EnterEventMode), (void *c)) { (void)c; return OK; }
DECLARED(FMI(EnterContinuousTimeMode), (void *c)) { (void)c; return OK; }
DECLARED(FMI(Terminate), (void *c)) { (void)c; return OK; }
DECLARED(FMI(Reset), (void *c)) { unit_reset(UNIT); return OK; }
DECLARED(FMI(SetTime), (void *c, double t)) { UNIT->arm.t = t; return OK; }
DECLARED(FMI(SetContinuousStates), (void *c, const double *x, size_t n))
{
    if (n == STATES)
        memcpy(UNIT->arm.x, x, sizeof UNIT->arm.x);
    return n == STATES ? OK : ERROR_;
}
DECLARED(FMI(GetContinuousStates), (void *c, double *x, size_t n))
{
    if (n == STATES)
        memcpy(x, UNIT->arm.x, sizeof UNIT->arm.x);
    return n == STATES ? OK : ERROR_;
}
DECLARED(FMI(GetNominalsOfContinuousStates), (void *c, double *sizes, size_t n))
{
    (void)c;
    if (n == STATES)
        memcpy(sizes, @NAME@_usual, sizeof @NAME@_usual);
    return n == STATES ? OK : ERROR_;
}
DECLARED(FMI(GetDerivatives), (void *c, double *rate, size_t n))
{
    if (n == STATES)
        @NAME@_rate(&UNIT->arm, UNIT->arm.t, UNIT->arm.x, rate);
    return n == STATES ? OK : ERROR_;
}
DECLARED(FMI(GetEventIndicators), (void *c, double *values, size_t n))
{
    if (n == INDICATORS)
        @NAME@_indicators(&UNIT->arm, values);
    return n == INDICATORS ? OK : ERROR_;
}

DECLARED(FMI(DeSerializeFMUstate), (void *c, const void *bytes, size_t size, void **state))
{
    (void)c;
    if (size != sizeof(struct unit) || (!*state && !(*state = malloc(size))))
        return ERROR_;
    memcpy(*state, bytes, size);
    return OK;
}
DECLARED(FMI(GetFMUstate), (void *c, void **state))
{
    return FMI(DeSerializeFMUstate)(c, c, sizeof(struct unit), state);
}
DECLARED(FMI(SetFMUstate), (void *c, void *state))
{
    memcpy(c, state, sizeof(struct unit));
    return OK;
}
DECLARED(FMI(FreeFMUstate), (void *c, void **state))
{
    (void)c;
    free(*state);
    *state = 0;
    return OK;
}
DECLARED(FMI(SerializedFMUstateSize), (void *c, void *state, size_t *size))
{
    (void)c, (void)state;
    *size = sizeof(struct unit);
    return OK;
}
DECLARED(FMI(SerializeFMUstate), (void *c, void *state, void *bytes, size_t size))
{
    (void)c;
    if (size < sizeof(struct unit))
        return ERROR_;
    memcpy(bytes, state, sizeof(struct unit));
    return OK;
}
