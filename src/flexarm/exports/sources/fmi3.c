/* @TITLE@ as a unit of FMI 3.0, for model exchange and co-simulation. */
#include <stdbool.h>
#include <stdint.h>

/* What both versions have, by its name in this one. */
#define FMI(name) fmi3##name
#define FLAG bool
#define fmi3GetFMUstate fmi3GetFMUState
#define fmi3SetFMUstate fmi3SetFMUState
#define fmi3FreeFMUstate fmi3FreeFMUState
#define fmi3SerializedFMUstateSize fmi3SerializedFMUStateSize
#define fmi3SerializeFMUstate fmi3SerializeFMUState
#define fmi3DeSerializeFMUstate fmi3DeserializeFMUState
#define fmi3GetDerivatives fmi3GetContinuousStateDerivatives
#include "unit.h"

typedef void *Instance;
typedef unsigned Reference;
typedef double Float64;
typedef const char *String;

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

DECLARED(fmi3EnterInitializationMode, (Instance c, bool has_tolerance, Float64 tolerance, Float64 t,
                                       bool has_end, Float64 t_end))
{
    (void)has_end, (void)t_end;
    unit_begin(UNIT, t, has_tolerance, tolerance);
    return OK;
}

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
/* What clocks, configuration and dependencies would ask: there are none. */
#define REFUSED(name, parameters) \
    DECLARED(name, parameters) { return ERROR_; }
#if defined __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#define EMPTY(name, parameters) \
    DECLARED(name, parameters) { return n ? ERROR_ : OK; }
EMPTY(fmi3GetBinary, (Instance c, const Reference *r, size_t n, size_t *sizes,
                      const uint8_t **values, size_t m))
EMPTY(fmi3SetBinary, (Instance c, const Reference *r, size_t n, const size_t *sizes,
                      const uint8_t *const *values, size_t m))
EMPTY(fmi3GetClock, (Instance c, const Reference *r, size_t n, bool *values))
EMPTY(fmi3SetClock, (Instance c, const Reference *r, size_t n, const bool *values))
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

DECLARED(fmi3GetDirectionalDerivative, (Instance c, const Reference *unknowns, size_t n,
                                        const Reference *knowns, size_t m, const Float64 *seed,
                                        size_t seeds, Float64 *change, size_t changes))
{
    if (seeds != m || changes != n)
        return ERROR_;
    return unit_change(UNIT, unknowns, n, knowns, m, seed, change) ? ERROR_ : OK;
}

/* Model exchange. */
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
