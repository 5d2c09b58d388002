/* @TITLE@ as a unit of FMI 3.0, for model exchange and co-simulation. */
#include <stdbool.h>
#include <stdint.h>

#include "unit.h"

typedef void *Instance;
typedef unsigned Reference;
typedef double Float64;
typedef const char *String;
enum { OK, WARNING, DISCARD, ERROR_, FATAL };

#define UNIT ((struct unit *)c)
#define DECLARED(name, parameters) \
    EXPORT int name parameters;    \
    EXPORT int name parameters
#define MADE(name, parameters)        \
    EXPORT Instance name parameters;  \
    EXPORT Instance name parameters

EXPORT const char *fmi3GetVersion(void);
EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

MADE(fmi3InstantiateModelExchange, (String name, String token, String resources, bool visible,
                                    bool logging, void *environment, void *log))
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
    return unit_make(token, "@TOKEN@");
}
MADE(fmi3InstantiateCoSimulation, (String name, String token, String resources, bool visible,
                                   bool logging, bool event_mode, bool early_return,
                                   const Reference *intermediate, size_t n, void *environment,
                                   void *log, void *update))
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)event_mode, (void)early_return;
    (void)intermediate, (void)n, (void)environment, (void)log, (void)update;
    return unit_make(token, "@TOKEN@");
}
MADE(fmi3InstantiateScheduledExecution, (String name, String token, String resources, bool visible,
                                         bool logging, void *environment, void *log, void *clock,
                                         void *lock, void *unlock))
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment;
    (void)log, (void)clock, (void)lock, (void)unlock;
    return 0;
}

EXPORT void fmi3FreeInstance(Instance c);
EXPORT void fmi3FreeInstance(Instance c) { free(c); }

DECLARED(fmi3SetDebugLogging, (Instance c, bool on, size_t n, const String *categories))
{
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}
DECLARED(fmi3EnterInitializationMode, (Instance c, bool has_tolerance, Float64 tolerance, Float64 t,
                                       bool has_end, Float64 t_end))
{
    (void)has_end, (void)t_end;
    unit_begin(UNIT, t, has_tolerance, tolerance);
    return OK;
}
DECLARED(fmi3ExitInitializationMode, (Instance c))
{
    @NAME@_update(&UNIT->arm);
    return OK;
}
DECLARED(fmi3EnterEventMode, (Instance c)) { (void)c; return OK; }
DECLARED(fmi3Terminate, (Instance c)) { (void)c; return OK; }
DECLARED(fmi3Reset, (Instance c)) { unit_reset(UNIT); return OK; }

DECLARED(fmi3GetFloat64, (Instance c, const Reference *r, size_t n, Float64 *values, size_t m))
{
    return n != m || unit_get(UNIT, r, n, values) ? ERROR_ : OK;
}
DECLARED(fmi3SetFloat64, (Instance c, const Reference *r, size_t n, const Float64 *values,
                          size_t m))
{
    return n != m || unit_set(UNIT, r, n, values) ? ERROR_ : OK;
}

/* There are no variables of other kinds. */
#define NONE(name, type)                                                                  \
    DECLARED(fmi3Get##name, (Instance c, const Reference *r, size_t n, type *v, size_t m)) \
    {                                                                                     \
        (void)c, (void)r, (void)v;                                                        \
        return n || m ? ERROR_ : OK;                                                      \
    }                                                                                     \
    DECLARED(fmi3Set##name,                                                               \
             (Instance c, const Reference *r, size_t n, const type *v, size_t m))         \
    {                                                                                     \
        (void)c, (void)r, (void)v;                                                        \
        return n || m ? ERROR_ : OK;                                                      \
    }
NONE(Float32, float)
NONE(Int8, int8_t)
NONE(UInt8, uint8_t)
NONE(Int16, int16_t)
NONE(UInt16, uint16_t)
NONE(Int32, int32_t)
NONE(UInt32, uint32_t)
NONE(Int64, int64_t)
NONE(UInt64, uint64_t)
NONE(Boolean, bool)
NONE(String, String)
DECLARED(fmi3GetBinary, (Instance c, const Reference *r, size_t n, size_t *sizes,
                         const uint8_t **values, size_t m))
{
    (void)c, (void)r, (void)sizes, (void)values;
    return n || m ? ERROR_ : OK;
}
DECLARED(fmi3SetBinary, (Instance c, const Reference *r, size_t n, const size_t *sizes,
                         const uint8_t *const *values, size_t m))
{
    (void)c, (void)r, (void)sizes, (void)values;
    return n || m ? ERROR_ : OK;
}
DECLARED(fmi3GetClock, (Instance c, const Reference *r, size_t n, bool *values))
{
    (void)c, (void)r, (void)values;
    return n ? ERROR_ : OK;
}
DECLARED(fmi3SetClock, (Instance c, const Reference *r, size_t n, const bool *values))
{
    (void)c, (void)r, (void)values;
    return n ? ERROR_ : OK;
}

/* What clocks, configuration and dependencies would ask: there are none. */
#define REFUSED(name, parameters) \
    DECLARED(name, parameters) { return ERROR_; }
#if defined __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
REFUSED(fmi3GetNumberOfVariableDependencies, (Instance c, Reference r, size_t *n))
REFUSED(fmi3GetVariableDependencies, (Instance c, Reference r, size_t *of, Reference *by,
                                      size_t *element, int *kinds, size_t n))
REFUSED(fmi3GetAdjointDerivative, (Instance c, const Reference *unknowns, size_t n,
                                   const Reference *knowns, size_t m, const Float64 *seed,
                                   size_t seeds, Float64 *change, size_t changes))
REFUSED(fmi3EnterConfigurationMode, (Instance c))
REFUSED(fmi3ExitConfigurationMode, (Instance c))
REFUSED(fmi3GetIntervalDecimal, (Instance c, const Reference *r, size_t n, Float64 *v, int *q))
REFUSED(fmi3GetIntervalFraction, (Instance c, const Reference *r, size_t n, uint64_t *v,
                                  uint64_t *resolution, int *q))
REFUSED(fmi3GetShiftDecimal, (Instance c, const Reference *r, size_t n, Float64 *v))
REFUSED(fmi3GetShiftFraction, (Instance c, const Reference *r, size_t n, uint64_t *v,
                               uint64_t *resolution))
REFUSED(fmi3SetIntervalDecimal, (Instance c, const Reference *r, size_t n, const Float64 *v))
REFUSED(fmi3SetIntervalFraction, (Instance c, const Reference *r, size_t n, const uint64_t *v,
                                  const uint64_t *resolution))
REFUSED(fmi3SetShiftDecimal, (Instance c, const Reference *r, size_t n, const Float64 *v))
REFUSED(fmi3SetShiftFraction, (Instance c, const Reference *r, size_t n, const uint64_t *v,
                               const uint64_t *resolution))
REFUSED(fmi3GetOutputDerivatives, (Instance c, const Reference *r, size_t n, const int32_t *orders,
                                   Float64 *v, size_t m))
REFUSED(fmi3ActivateModelPartition, (Instance c, Reference clock, Float64 t))

DECLARED(fmi3GetFMUState, (Instance c, void **state))
{
    if (!*state)
        *state = malloc(sizeof(struct unit));
    if (!*state)
        return ERROR_;
    memcpy(*state, c, sizeof(struct unit));
    return OK;
}
DECLARED(fmi3SetFMUState, (Instance c, void *state))
{
    memcpy(c, state, sizeof(struct unit));
    return OK;
}
DECLARED(fmi3FreeFMUState, (Instance c, void **state))
{
    (void)c;
    free(*state);
    *state = 0;
    return OK;
}
DECLARED(fmi3SerializedFMUStateSize, (Instance c, void *state, size_t *size))
{
    (void)c, (void)state;
    *size = sizeof(struct unit);
    return OK;
}
DECLARED(fmi3SerializeFMUState, (Instance c, void *state, uint8_t *bytes, size_t size))
{
    (void)c;
    if (size < sizeof(struct unit))
        return ERROR_;
    memcpy(bytes, state, sizeof(struct unit));
    return OK;
}
DECLARED(fmi3DeserializeFMUState, (Instance c, const uint8_t *bytes, size_t size, void **state))
{
    (void)c;
    if (size != sizeof(struct unit) || (!*state && !(*state = malloc(size))))
        return ERROR_;
    memcpy(*state, bytes, size);
    return OK;
}

DECLARED(fmi3GetDirectionalDerivative, (Instance c, const Reference *unknowns, size_t n,
                                        const Reference *knowns, size_t m, const Float64 *seed,
                                        size_t seeds, Float64 *change, size_t changes))
{
    if (seeds != m || changes != n)
        return ERROR_;
    return unit_change(UNIT, unknowns, n, knowns, m, seed, change) ? ERROR_ : OK;
}

/* Model exchange. */
DECLARED(fmi3EnterContinuousTimeMode, (Instance c)) { (void)c; return OK; }
DECLARED(fmi3EvaluateDiscreteStates, (Instance c)) { (void)c; return OK; }
DECLARED(fmi3UpdateDiscreteStates, (Instance c, bool *again, bool *terminate, bool *nominals,
                                    bool *states, bool *next_defined, Float64 *next))
{
    *states = @NAME@_update(&UNIT->arm) != 0;
    *next = @NAME@_pass(&UNIT->arm);
    *next_defined = *next < HUGE_VAL;
    *terminate = @NAME@_is_over(&UNIT->arm) != 0;
    *again = *nominals = false;
    return OK;
}
DECLARED(fmi3CompletedIntegratorStep, (Instance c, bool forward, bool *enter_event_mode,
                                       bool *terminate))
{
    (void)forward;
    *enter_event_mode = unit_due(UNIT) != 0;
    *terminate = @NAME@_is_over(&UNIT->arm) != 0;
    return OK;
}
DECLARED(fmi3SetTime, (Instance c, Float64 t)) { UNIT->arm.t = t; return OK; }
DECLARED(fmi3SetContinuousStates, (Instance c, const Float64 *x, size_t n))
{
    if (n != STATES)
        return ERROR_;
    memcpy(UNIT->arm.x, x, sizeof UNIT->arm.x);
    return OK;
}
DECLARED(fmi3GetContinuousStateDerivatives, (Instance c, Float64 *rate, size_t n))
{
    if (n != STATES)
        return ERROR_;
    @NAME@_rate(&UNIT->arm, UNIT->arm.t, UNIT->arm.x, rate);
    return OK;
}
DECLARED(fmi3GetEventIndicators, (Instance c, Float64 *values, size_t n))
{
    if (n != INDICATORS)
        return ERROR_;
    @NAME@_indicators(&UNIT->arm, values);
    return OK;
}
DECLARED(fmi3GetContinuousStates, (Instance c, Float64 *x, size_t n))
{
    if (n != STATES)
        return ERROR_;
    memcpy(x, UNIT->arm.x, sizeof UNIT->arm.x);
    return OK;
}
DECLARED(fmi3GetNominalsOfContinuousStates, (Instance c, Float64 *sizes, size_t n))
{
    (void)c;
    if (n != STATES)
        return ERROR_;
    memcpy(sizes, @NAME@_usual, sizeof @NAME@_usual);
    return OK;
}
DECLARED(fmi3GetNumberOfEventIndicators, (Instance c, size_t *n))
{
    (void)c;
    *n = INDICATORS;
    return OK;
}
DECLARED(fmi3GetNumberOfContinuousStates, (Instance c, size_t *n))
{
    (void)c;
    *n = STATES;
    return OK;
}

/* Co-simulation. */
DECLARED(fmi3EnterStepMode, (Instance c)) { (void)c; return OK; }
DECLARED(fmi3DoStep, (Instance c, Float64 t, Float64 h, bool no_set_state, bool *event_needed,
                      bool *terminate, bool *early_return, Float64 *last))
{
    int status;
    (void)no_set_state;
    UNIT->arm.t = t;
    status = unit_step(UNIT, t + h);
    *event_needed = false;
    *terminate = status == @NAME@_OUTSIDE;
    *early_return = *terminate && UNIT->arm.t < t + h;
    *last = UNIT->arm.t;
    return status == @NAME@_FAILED ? ERROR_ : OK;
}
