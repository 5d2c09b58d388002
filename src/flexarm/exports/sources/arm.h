#ifndef @NAME@_H
#define @NAME@_H

/* @TITLE@: x' = f(t, x, u), y = g(t, x). C99; needs math.h and string.h, allocates nothing, keeps
 * no state but what is in struct @NAME@: several may run in several threads.
 *
 * x: coordinates, their rates, states of servos and drives. u: efforts of the driven joints, on top
 * of those of the model file. Functions of time jump at @NAME@_jumps: `since` is the last jump
 * that the motion has passed, so that a step that ends at a jump ends before it. SI units, radians.
 *
 * What jumps beside them is in d, closed, braked, done, low and high: attitudes that angles are
 * measured from, what dry friction and brakes hold (0), let slip (-1, 1) or leave open (2), events
 * that have happened, bounds within which nothing happens; and in what sampled servos know: ticks passed, place measured last,
 * integral, inputs that wait for their time. @NAME@_rk4 and @NAME@_dop853 find when it does; who steps by other
 * means ends steps where an indicator changes its sign, and calls @NAME@_update there.
 */

@DEFINES@

#ifdef __cplusplus
extern "C" {
#endif

struct @NAME@ {
    double t, since;           /* time, and the last jump passed [s] */
    double x[@NAME@_STATES];
    double u[@NAME@_INPUTS + 1];
    double d[9 * @NAME@_ATTITUDES + 2 * @NAME@_HOLDERS + @NAME@_SAMPLED + 1];
    int closed[@NAME@_HOLDERS + 1], braked[@NAME@_HOLDERS + 1];
    int done[@NAME@_EVENTS + 1], over;
    double low[@NAME@_LOOKS + @NAME@_HOLDERS + 1], high[@NAME@_LOOKS + @NAME@_HOLDERS + 1];
    double ticks[@NAME@_SAMPLED + 1], before[@NAME@_SAMPLED + 1], integral[@NAME@_SAMPLED + 1];
    double due[@NAME@_SAMPLED * @NAME@_WAITING + 1], asked[@NAME@_SAMPLED * @NAME@_WAITING + 1];
    int measured[@NAME@_SAMPLED + 1];
    double h, last_error;      /* of @NAME@_dop853: next step [s], error of the last */
    long steps;
    double f[@NAME@_STATES];   /* scratch from here on */
    double k[16 * @NAME@_STATES], polynomial[7 * @NAME@_STATES];
    double stage[@NAME@_STATES], trial[@NAME@_STATES], sampled[@NAME@_STATES];
    double rate[@NAME@_STATES], next[@NAME@_STATES], inner_rates[@NAME@_STATES];
    double last[@NAME@_STATES], rates_before[@NAME@_STATES];
    double seen[@NAME@_LOOKS + @NAME@_HOLDERS + 1], seen_at_t[@NAME@_LOOKS + @NAME@_HOLDERS + 1];
    double seen_rates[@NAME@_LOOKS + @NAME@_HOLDERS + 1];
    double seen_rates_at_t[@NAME@_LOOKS + @NAME@_HOLDERS + 1];
    double inner[6 * (@NAME@_LOOKS + @NAME@_HOLDERS) + 1];
    double column[@NAME@_HOLDERS * @NAME@_STATES + 1];
    double reference_attitudes[9 * @NAME@_ATTITUDES + 1];
    double work[@NAME@_WORK];
};

enum { @NAME@_OK, @NAME@_OUTSIDE, @NAME@_FAILED };

extern const char *const @NAME@_state_names[@NAME@_STATES + 1];
extern const char *const @NAME@_state_units[@NAME@_STATES + 1];
extern const char *const @NAME@_input_names[@NAME@_INPUTS + 1];
extern const char *const @NAME@_output_names[@NAME@_OUTPUTS + 1];
extern const char *const @NAME@_indicator_names[@NAME@_INDICATORS + 1];
extern const double @NAME@_jumps[@NAME@_JUMPS + 1];
/* Usual sizes of the states: errors below are not relative. */
extern const double @NAME@_usual[@NAME@_STATES];

/* Linear model about an equilibrium, dx' = A dx + B du, dy = C dx + D du, row by row, of the states
 * (servos and drives left out) and outputs named here. */
extern const double @NAME@_A[], @NAME@_B[], @NAME@_C[], @NAME@_D[];
extern const char *const @NAME@_linear_states[], *const @NAME@_linear_outputs[];

/* Begin at time 0, where the model file says. */
void @NAME@_start(struct @NAME@ *a);
/* The rate of x at a time t, the pieces of a->since in force. */
void @NAME@_rate(struct @NAME@ *a, double t, const double *x, double *rate);
/* The outputs at a->t and a->x. */
void @NAME@_output(struct @NAME@ *a, double *y);
/* How rate and outputs change along changes dx and du. */
void @NAME@_change(struct @NAME@ *a, const double *dx, const double *du, double *rate, double *y);
/* Distance to a bound of x, negative beyond: limits of joints, slopes that are too steep. */
double @NAME@_distance(int bound, const double *x);
/* Go to t_end by the classical Runge-Kutta method in equal steps of at most `step` [s]. */
int @NAME@_rk4(struct @NAME@ *a, double t_end, double step);
/* Go to t_end by Dormand and Prince's method of order 8, errors per step within `tolerance`. */
int @NAME@_dop853(struct @NAME@ *a, double t_end, double tolerance);
/* Pass jumps that the time has come to; the next one or a servo's next time, or HUGE_VAL. */
double @NAME@_pass(struct @NAME@ *a);
/* Let happen what is due at a->t and a->x: jumps, events, what sticks or slips, angles that are
 * measured anew. 1 if states have changed. */
int @NAME@_update(struct @NAME@ *a);
/* What changes its sign where something happens, @NAME@_INDICATORS of them: distances to bounds
 * first. */
void @NAME@_indicators(struct @NAME@ *a, double *z);
/* Whether it is beyond a bound, or an event has ended the motion. */
int @NAME@_is_over(const struct @NAME@ *a);

#ifdef __cplusplus
}
#endif

#endif
