#include "@FILE@.h"

#include <math.h>
#include <string.h>

#include "equations.h"

#define N @NAME@_STATES

@TABLES@

/* Explicit Runge-Kutta methods by their tables. */
@METHODS@

void @NAME@_start(struct @NAME@ *a)
{
    memset(a, 0, sizeof *a);
    memcpy(a->x, start, sizeof a->x);
    a->last_error = 1.0;
}

void @NAME@_rate(struct @NAME@ *a, double t, const double *x, double *rate)
{
    flexarm_@NAME@_rates(&t, &a->since, x, a->u, rate, a->work);
}

void @NAME@_output(struct @NAME@ *a, double *y)
{
    flexarm_@NAME@_outputs(&a->t, &a->since, a->x, y, a->work);
}

void @NAME@_change(struct @NAME@ *a, const double *dx, const double *du, double *rate, double *y)
{
    flexarm_@NAME@_tangent(&a->t, &a->since, a->x, a->u, dx, du, rate, y, a->work);
}

double @NAME@_distance(int bound, const double *x)
{
    double value = bounds[bound * (N + 1) + N];
    for (int i = 0; i < N; ++i)
        value += bounds[bound * (N + 1) + i] * x[i];
    return value;
}

double @NAME@_pass(struct @NAME@ *a)
{
    for (int i = 0; i < @NAME@_JUMPS; ++i) {
        if (@NAME@_jumps[i] > a->t)
            return @NAME@_jumps[i];
        a->since = @NAME@_jumps[i];
    }
    return HUGE_VAL;
}

static int outside(const double *x)
{
    for (int k = 0; k < @NAME@_BOUNDS; ++k)
        if (@NAME@_distance(k, x) < 0.0)
            return 1;
    return 0;
}

static int finite_numbers(const double *x)
{
    for (int i = 0; i < N; ++i)
        if (!(fabs(x[i]) < HUGE_VAL))
            return 0;
    return 1;
}

/* Sum the rates of the first stages with weights. */
static void weigh(int stages, const double *k, const double *weights, double *out)
{
    for (int i = 0; i < N; ++i)
        out[i] = 0.0;
    for (int s = 0; s < stages; ++s)
        for (int i = 0; i < N; ++i)
            if (weights[s] != 0.0)
                out[i] += weights[s] * k[s * N + i];
}

/* Put the state after a step h into a->trial; the rates of its stages are in a->k. */
static void try_step(struct @NAME@ *a, int stages, const double *table, const double *nodes,
                     const double *weights, double h)
{
    @NAME@_rate(a, a->t, a->x, a->k);
    for (int s = 1; s < stages; ++s) {
        weigh(s, a->k, table + s * stages, a->trial);
        for (int i = 0; i < N; ++i)
            a->trial[i] = a->x[i] + h * a->trial[i];
        @NAME@_rate(a, a->t + nodes[s] * h, a->trial, a->k + s * N);
    }
    weigh(stages, a->k, weights, a->trial);
    for (int i = 0; i < N; ++i)
        a->trial[i] = a->x[i] + h * a->trial[i];
}

static int accept_step(struct @NAME@ *a, double t)
{
    memcpy(a->x, a->trial, sizeof a->x);
    a->t = t;
    ++a->steps;
    return outside(a->x) ? @NAME@_OUTSIDE : @NAME@_OK;
}

int @NAME@_rk4(struct @NAME@ *a, double t_end, double step)
{
    while (a->t < t_end) {
        const double stop = fmin(@NAME@_pass(a), t_end), left = stop - a->t;
        const double count = fmax(1.0, floor(left / step + 0.999999)), h = left / count;
        try_step(a, 4, rk4_a, rk4_c, rk4_b, h);
        if (!finite_numbers(a->trial))
            return @NAME@_FAILED;
        if (accept_step(a, count < 1.5 ? stop : a->t + h) == @NAME@_OUTSIDE)
            return @NAME@_OUTSIDE;
    }
    @NAME@_pass(a);
    return @NAME@_OK;
}

/* Root mean square of an error estimate, over the sizes of the states. */
static double measured(struct @NAME@ *a, const double *weights, double h)
{
    double sum = 0.0;
    weigh(12, a->k, weights, a->f);
    for (int i = 0; i < N; ++i) {
        const double size = fmax(@NAME@_usual[i], fmax(fabs(a->x[i]), fabs(a->trial[i])));
        const double error = h * a->f[i] / size;
        sum += error * error;
    }
    return sqrt(sum / N);
}

int @NAME@_dop853(struct @NAME@ *a, double t_end, double tolerance)
{
    if (a->h <= 0.0)
        a->h = 0.01 * largest_step;
    while (a->t < t_end) {
        const double stop = fmin(@NAME@_pass(a), t_end), left = stop - a->t;
        const int last = fmin(a->h, largest_step) >= 0.999 * left;
        const double h = last ? left : fmin(fmin(a->h, largest_step), 0.5 * left + 0.5 * a->h);
        double error, fifth, third;
        if (a->t + h <= a->t)
            return @NAME@_FAILED;
        try_step(a, 12, dop853_a, dop853_c, dop853_b, h);
        fifth = measured(a, dop853_e5, h);
        third = measured(a, dop853_e3, h);
        error = fifth > 0.0 ? fifth * fifth / sqrt(fifth * fifth + 0.01 * third * third) : 0.0;
        error = finite_numbers(a->trial) ? error / tolerance : HUGE_VAL;
        if (!(error <= 1.0)) {
            a->h = h * (error < HUGE_VAL ? fmax(0.2, 0.9 * pow(error, -0.125)) : 0.1);
            a->last_error = 2.0;
            continue;
        }
        {
            double change = 0.9 * pow(fmax(error, 1e-10), -0.125);
            change = fmin(a->last_error > 1.0 ? 1.0 : 2.0, change);
            if (!last || h * change > a->h || change < 1.0)
                a->h = h * change;
            a->last_error = error;
        }
        if (accept_step(a, last ? stop : a->t + h) == @NAME@_OUTSIDE)
            return @NAME@_OUTSIDE;
    }
    @NAME@_pass(a);
    return @NAME@_OK;
}
