/* @TITLE@ as a unit of FMI 2.0, for model exchange and co-simulation. */
#define FMI(name) fmi2##name
#define FLAG int
#include "unit.h"

typedef void *Component;
typedef unsigned Reference;
typedef double Real;
typedef int Integer;
typedef int Boolean;
typedef const char *String;

struct EventInfo {
    Boolean new_discrete_states_needed, terminate_simulation, nominals_changed, states_changed,
        next_event_time_defined;
    Real next_event_time;
};

EXPORT const char *fmi2GetTypesPlatform(void);
EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void);
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT Component fmi2Instantiate(String name, int type, String token, String resources,
                                 const void *callbacks, Boolean visible, Boolean logging);
EXPORT Component fmi2Instantiate(String name, int type, String token, String resources,
                                 const void *callbacks, Boolean visible, Boolean logging)
{
    (void)name, (void)type, (void)resources, (void)callbacks, (void)visible, (void)logging;
    return unit_make(token, "@TOKEN@");
}

DECLARED(fmi2SetupExperiment, (Component c, Boolean has_tolerance, Real tolerance, Real t,
                               Boolean has_end, Real t_end))
{
    (void)has_end, (void)t_end;
    unit_begin(UNIT, t, has_tolerance, tolerance);
    return OK;
}

DECLARED(fmi2EnterInitializationMode, (Component c)) { (void)c; return OK; }

DECLARED(fmi2GetReal, (Component c, const Reference *r, size_t n, Real *values))
{
    return unit_get(UNIT, r, n, values) ? ERROR_ : OK;
}
DECLARED(fmi2SetReal, (Component c, const Reference *r, size_t n, const Real *values))
{
    return unit_set(UNIT, r, n, values) ? ERROR_ : OK;
}

/* There are no variables of other kinds. */
#define NONE(name, type)                                                         \
    DECLARED(name, (Component c, const Reference *r, size_t n, type *values))    \
    {                                                                            \
        (void)c, (void)r, (void)values;                                          \
        return n ? ERROR_ : OK;                                                  \
    }
NONE(fmi2GetInteger, Integer)
NONE(fmi2GetBoolean, Boolean)
NONE(fmi2GetString, String)
NONE(fmi2SetInteger, const Integer)
NONE(fmi2SetBoolean, const Boolean)
NONE(fmi2SetString, const String)

DECLARED(fmi2GetDirectionalDerivative, (Component c, const Reference *unknowns, size_t n,
                                        const Reference *knowns, size_t m, const Real *seed,
                                        Real *change))
{
    return unit_change(UNIT, unknowns, n, knowns, m, seed, change) ? ERROR_ : OK;
}

/* Model exchange. */
DECLARED(fmi2NewDiscreteStates, (Component c, struct EventInfo *info))
{
    memset(info, 0, sizeof *info);
    info->states_changed = @NAME@_update(&UNIT->arm);
    info->next_event_time = @NAME@_pass(&UNIT->arm);
    info->next_event_time_defined = info->next_event_time < HUGE_VAL;
    info->terminate_simulation = @NAME@_is_over(&UNIT->arm);
    return OK;
}
DECLARED(fmi2CompletedIntegratorStep, (Component c, Boolean forward, Boolean *enter_event_mode,
                                       Boolean *terminate))
{
    (void)forward;
    *enter_event_mode = unit_due(UNIT);
    *terminate = @NAME@_is_over(&UNIT->arm);
    return OK;
}

/* Co-simulation. */
DECLARED(fmi2DoStep, (Component c, Real t, Real h, Boolean no_set_state))
{
    int status;
    (void)no_set_state;
    UNIT->arm.t = t;
    status = unit_step(UNIT, t + h);
    return status == @NAME@_OK ? OK : status == @NAME@_OUTSIDE ? DISCARD : ERROR_;
}
DECLARED(fmi2CancelStep, (Component c)) { (void)c; return ERROR_; }
DECLARED(fmi2SetRealInputDerivatives, (Component c, const Reference *r, size_t n,
                                       const Integer *order, const Real *values))
{
    (void)c, (void)r, (void)order, (void)values;
    return n ? ERROR_ : OK;
}
DECLARED(fmi2GetRealOutputDerivatives, (Component c, const Reference *r, size_t n,
                                        const Integer *order, Real *values))
{
    (void)c, (void)r, (void)order, (void)values;
    return n ? ERROR_ : OK;
}
DECLARED(fmi2GetStatus, (Component c, int kind, int *status))
{
    (void)c, (void)kind, (void)status;
    return DISCARD;
}
DECLARED(fmi2GetRealStatus, (Component c, int kind, Real *value))
{
    enum { LAST_SUCCESSFUL_TIME = 2 };
    *value = UNIT->arm.t;
    return kind == LAST_SUCCESSFUL_TIME ? OK : DISCARD;
}
DECLARED(fmi2GetIntegerStatus, (Component c, int kind, Integer *value))
{
    (void)c, (void)kind, (void)value;
    return DISCARD;
}
DECLARED(fmi2GetBooleanStatus, (Component c, int kind, Boolean *value))
{
    enum { TERMINATED = 3 };
    *value = @NAME@_is_over(&UNIT->arm);
    return kind == TERMINATED ? OK : DISCARD;
}
DECLARED(fmi2GetStringStatus, (Component c, int kind, String *value))
{
    (void)c, (void)kind, (void)value;
    return DISCARD;
}
