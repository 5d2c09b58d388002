#include "@FILE@.h"

#include <math.h>
#include <string.h>

#include "equations.h"

#define N @NAME@_STATES

@TABLES@

/* Coefficients of explicit Runge-Kutta methods, and steps by them. */
@METHODS@

@RECORDS@

#define HOLDERS @NAME@_HOLDERS
#define EVENTS @NAME@_EVENTS
#define LOOKS @NAME@_LOOKS
#define COORDINATES @NAME@_COORDINATES
#define ATTITUDES @NAME@_ATTITUDES
#define SIGHTS (LOOKS + HOLDERS)
#define WATCHED (SIGHTS + @NAME@_BOUNDS)
/* Places in d: reference_attitudes row by row, then of each holder its effort and the way friction acts, then
 * what sampled servos hold. */
#define EFFORT(k) (9 * ATTITUDES + 2 * (k))
#define WAY(k) (9 * ATTITUDES + 2 * (k) + 1)
#define SAMPLED @NAME@_SAMPLED
#define WAITING @NAME@_WAITING
#define HELD(k) (9 * ATTITUDES + 2 * HOLDERS + (k))
#define RATE_OF(k) ((int)holder_place[k])

void @NAME@_start(struct @NAME@ *a)
{
    memset(a, 0, sizeof *a);
    memcpy(a->x, start, sizeof a->x);
    memcpy(a->d, first_references, ATTITUDES * 9 * sizeof a->d[0]);
    for (int k = 0; k < HOLDERS; ++k) {
        a->closed[k] = (int)holder_closed[k];
        a->braked[k] = (int)holder_braked[k];
    }
    for (int e = 0; e < EVENTS; ++e)
        a->done[e] = (int)event_done[e];
#if @NAME@_SAMPLED
    memcpy(a->integral, servo_integral, sizeof servo_integral);
    memcpy(a->d + HELD(0), servo_held, sizeof servo_held);
    for (int k = 0; k < SAMPLED * WAITING; ++k)
        a->due[k] = HUGE_VAL;
#endif
    a->last_error = 1.0;
}

/* What times may differ by and be one. */
static double rounding(double t) { return 1e-12 * fmax(fabs(t), 1e-9); }

/* How brakes and dry friction hold (0), slip (-1, 1) or are open. */
@RULES@

static double capacity(const struct @NAME@ *a, int k)
{
    return holder_friction[k] + (a->braked[k] ? holder_brake[k] : 0.0);
}

/* Solve the m equations of the first m rows of `matrix` (row by row, with the right sides last). */
static void solve(int m, double *matrix, double *out)
{
    const int w = m + 1;
    for (int c = 0; c < m; ++c) {
        int pivot = c;
        for (int r = c + 1; r < m; ++r)
            if (fabs(matrix[r * w + c]) > fabs(matrix[pivot * w + c]))
                pivot = r;
        for (int j = 0; j < w; ++j) {
            const double kept = matrix[c * w + j];
            matrix[c * w + j] = matrix[pivot * w + j];
            matrix[pivot * w + j] = kept;
        }
        for (int r = c + 1; r < m; ++r)
            for (int j = w - 1; j >= c; --j)
                matrix[r * w + j] -= matrix[r * w + c] / matrix[c * w + c] * matrix[c * w + j];
    }
    for (int r = m - 1; r >= 0; --r) {
        out[r] = matrix[r * w + m];
        for (int j = r + 1; j < m; ++j)
            out[r] -= matrix[r * w + j] * out[j];
        out[r] /= matrix[r * w + r];
    }
}

static void evaluate(struct @NAME@ *a, double t, const double *x, double *rate)
{
    flexarm_@NAME@_rates(&t, &a->since, x, a->u, a->d, rate, a->seen, a->work);
}

/* Find how the rates change by a unit's effort of each of some holders: a->column. */
static void respond(struct @NAME@ *a, double t, const double *x, const double *rate, int m,
                    const int *which)
{
    for (int j = 0; j < m; ++j) {
        double *column = a->column + j * N;
        a->d[EFFORT(which[j])] += holder_unit[which[j]];
        evaluate(a, t, x, column);
        a->d[EFFORT(which[j])] -= holder_unit[which[j]];
        for (int i = 0; i < N; ++i)
            column[i] -= rate[i];
    }
}

/* How many units of each effort take the rates of what is held from `now` to 0. */
static void shares(struct @NAME@ *a, const double *now, int m, const int *which, double *out)
{
    double matrix[(HOLDERS + 1) * (HOLDERS + 2)];
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < m; ++j)
            matrix[i * (m + 1) + j] = a->column[j * N + RATE_OF(which[i])];
        matrix[i * (m + 1) + m] = -now[RATE_OF(which[i])];
    }
    solve(m, matrix, out);
}

/* Rates; efforts that hold what stands still are found so that it does, and refined once. */
void @NAME@_rate(struct @NAME@ *a, double t, const double *x, double *rate)
{
    int stuck[HOLDERS + 1], m = 0;
    double share[HOLDERS + 1];
    for (int k = 0; k < HOLDERS; ++k) {
        const int way = a->closed[k] == OPEN ? 0 : -a->closed[k];
        a->d[WAY(k)] = way;
        a->d[EFFORT(k)] = way && a->braked[k] ? way * holder_brake[k] : 0.0;
        if (a->closed[k] == 0)
            stuck[m++] = k;
    }
    evaluate(a, t, x, rate);
    if (!m)
        return;
    respond(a, t, x, rate, m, stuck);
    for (int again = 0; again < 2; ++again) {
        shares(a, rate, m, stuck, share);
        for (int j = 0; j < m; ++j)
            a->d[EFFORT(stuck[j])] += share[j] * holder_unit[stuck[j]];
        evaluate(a, t, x, rate);
    }
    for (int j = 0; j < m; ++j)
        rate[RATE_OF(stuck[j])] = 0.0;
}

void @NAME@_output(struct @NAME@ *a, double *y)
{
    flexarm_@NAME@_outputs(&a->t, &a->since, a->x, a->d, y, a->work);
}

void @NAME@_change(struct @NAME@ *a, const double *dx, const double *du, double *rate, double *y)
{
    int stuck[HOLDERS + 1], m = 0;
    double share[HOLDERS + 1], *here = a->k;
    @NAME@_rate(a, a->t, a->x, here); /* what holds, holds */
    flexarm_@NAME@_tangent(&a->t, &a->since, a->x, a->u, a->d, dx, du, rate, y, a->work);
    for (int k = 0; k < HOLDERS; ++k)
        if (a->closed[k] == 0)
            stuck[m++] = k;
    if (!m)
        return;
    respond(a, a->t, a->x, here, m, stuck);
    shares(a, rate, m, stuck, share);
    for (int j = 0; j < m; ++j)
        for (int i = 0; i < N; ++i)
            rate[i] += share[j] * a->column[j * N + i];
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
    double next = HUGE_VAL;
#if @NAME@_SAMPLED
    for (int k = 0; k < SAMPLED; ++k)
        next = fmin(next, a->ticks[k] * servo_period[k]);
    for (int k = 0; k < SAMPLED * WAITING; ++k)
        next = fmin(next, a->due[k]);
#endif
    for (int i = 0; i < @NAME@_JUMPS; ++i) {
        if (@NAME@_jumps[i] > a->t)
            return fmin(next, @NAME@_jumps[i]);
        a->since = @NAME@_jumps[i];
    }
    return next;
}

#if @NAME@_SAMPLED
/* Let servos measure whose time has come, and hold what they asked for a delay before; 1 if one
 * holds something else. */
static int tick(struct @NAME@ *a)
{
    const double now = a->t + rounding(a->t);
    double seen[3 * SAMPLED], asked[SAMPLED], rate[SAMPLED];
    int changed = 0;
    for (int k = 0; k < SAMPLED; ++k) {
        const double passed = ceil((a->t - rounding(a->t)) / servo_period[k]);
        const double grain = servo_resolution[k];
        double *here = seen + 3 * k;
        here[0] = here[1] = 0.0;
        for (int i = 0; i < COORDINATES; ++i) {
            here[0] += servo_row[k * COORDINATES + i] * a->x[i];
            here[1] += servo_row[k * COORDINATES + i] * a->x[COORDINATES + i];
        }
        if (grain > 0.0) {
            here[0] = rint(here[0] / grain) * grain;
            here[1] = a->measured[k] ? (here[0] - a->before[k]) / servo_period[k] : 0.0;
        }
        here[2] = a->integral[k];
        a->ticks[k] = fmax(a->ticks[k], passed);
    }
    flexarm_@NAME@_servos(&a->t, &a->since, a->u, seen, asked, rate, a->work);
    for (int k = 0; k < SAMPLED; ++k) {
        double *due = a->due + k * WAITING, *held = a->asked + k * WAITING;
        if (a->ticks[k] * servo_period[k] <= now) {
            int last = WAITING - 1; /* the first times come first: there is room at the end */
            while (last > 0 && !(due[last - 1] < HUGE_VAL))
                --last;
            due[last] = a->t + servo_delay[k];
            held[last] = asked[k];
            a->integral[k] += servo_period[k] * rate[k];
            a->before[k] = seen[3 * k];
            a->measured[k] = 1;
            a->ticks[k] += 1.0;
        }
        while (due[0] <= now) {
            changed |= a->d[HELD(k)] != held[0];
            a->d[HELD(k)] = held[0];
            memmove(due, due + 1, (WAITING - 1) * sizeof *due);
            memmove(held, held + 1, (WAITING - 1) * sizeof *held);
            due[WAITING - 1] = HUGE_VAL;
        }
    }
    return changed;
}
#endif

static int is_due(const struct @NAME@ *a, int e, double t)
{
    const int look = (int)event_look[e];
    if (a->done[e] || t < event_from[e])
        return 0;
    return look < 0 || a->seen[look] < event_low[e] || a->seen[look] > event_high[e];
}

/* How far it is to what happens next, negative beyond: quantities that are looked out for, corners
 * of the equations, what holds. By the last evaluation, that of x at t. */
static void sights(const struct @NAME@ *a, double t, const double *x, double *z)
{
    for (int k = 0; k < LOOKS; ++k)
        z[k] = a->side[k] ? a->side[k] * (a->seen[k] - look_corner[k]) : 1.0;
    for (int e = 0; e < EVENTS; ++e) {
        const int k = (int)event_look[e];
        if (k >= 0 && !a->done[e] && t >= event_from[e])
            z[k] = event_high[e] < HUGE_VAL ? event_high[e] - a->seen[k]
                                            : a->seen[k] - event_low[e];
    }
    for (int k = 0; k < HOLDERS; ++k) {
        const double most = capacity(a, k);
        double *here = z + LOOKS + k;
        *here = a->closed[k] == OPEN || (a->closed[k] == 0 && !(most < HUGE_VAL)) ? 1.0
                : a->closed[k] == 0 ? most - fabs(a->d[EFFORT(k)])
                                    : a->closed[k] * x[RATE_OF(k)];
    }
}

void @NAME@_indicators(struct @NAME@ *a, double *z)
{
    for (int k = 0; k < @NAME@_BOUNDS; ++k)
        z[k] = @NAME@_distance(k, a->x);
    z += @NAME@_BOUNDS;
    if (SIGHTS)
        @NAME@_rate(a, a->t, a->x, a->f);
    sights(a, a->t, a->x, z);
    for (int k = 0; k < ATTITUDES; ++k)
        z[SIGHTS + k] = turn_limit[0] - fabs(a->x[(int)attitude_at[k] + 1]);
}

/* Open and close brakes: those of all events of an instant open before any closes. */
static void switch_brakes(struct @NAME@ *a, const int *due)
{
    for (int way = -1; way <= 1; way += 2)
        for (int e = 0; e < EVENTS; ++e)
            for (int k = 0; due[e] && k < HOLDERS; ++k) {
                if ((int)event_brake[e * HOLDERS + k] != way)
                    continue;
                a->braked[k] = way > 0;
                if (way > 0)
                    a->closed[k] = (int)kernel_way_closed(a->closed[k], a->x[RATE_OF(k)],
                                                          holder_brake[k]);
                else if (!(holder_friction[k] > 0.0))
                    a->closed[k] = OPEN;
            }
}

/* Stop at once what never slips and moves; what can slip holds no impulse. */
static int arrest(struct @NAME@ *a)
{
    int held[HOLDERS + 1], m = 0, moves = 0;
    double share[HOLDERS + 1], most = 0.0;
    for (int k = 0; k < HOLDERS; ++k)
        if (a->closed[k] == 0 && !(capacity(a, k) < HUGE_VAL)) {
            held[m++] = k;
            moves |= a->x[RATE_OF(k)] != 0.0;
        }
    if (!moves)
        return 0;
    for (int k = 0; k < HOLDERS; ++k)
        a->d[EFFORT(k)] = a->d[WAY(k)] = 0.0;
    evaluate(a, a->t, a->x, a->f);
    respond(a, a->t, a->x, a->f, m, held);
    shares(a, a->x, m, held, share);
    for (int j = 0; j < m; ++j)
        for (int i = 0; i < COORDINATES; ++i)
            a->x[COORDINATES + i] += share[j] * a->column[j * N + COORDINATES + i];
    for (int j = 0; j < m; ++j)
        a->x[RATE_OF(held[j])] = 0.0;
    for (int i = 0; i < COORDINATES; ++i)
        most = fmax(most, fabs(a->x[COORDINATES + i]));
    for (int k = 0; k < HOLDERS; ++k)
        if (a->closed[k] != OPEN && capacity(a, k) < HUGE_VAL)
            a->closed[k] = (int)kernel_way_moving(a->x[RATE_OF(k)], most);
    return 1;
}

/* Let stick what has come to rest, and slip what is pushed beyond what holds it. */
static int turn_holders(struct @NAME@ *a)
{
    for (int k = 0; k < HOLDERS; ++k) {
        double *rate = a->x + RATE_OF(k);
        const int way = (int)kernel_way_next(a->closed[k], a->d[EFFORT(k)], capacity(a, k), *rate,
                                             a->f[RATE_OF(k)]);
        if (way == a->closed[k])
            continue;
        a->closed[k] = way;
        *rate = 0.0;
        return 1;
    }
    return 0;
}

int @NAME@_update(struct @NAME@ *a)
{
    int changed = 0, again = SIGHTS + EVENTS > 0;
    @NAME@_pass(a);
    for (int count = 0; again && count < MOST_AT_ONCE; ++count) {
        int due[EVENTS + 1];
        again = 0;
        @NAME@_rate(a, a->t, a->x, a->f);
        for (int e = 0; e < EVENTS; ++e)
            again |= due[e] = is_due(a, e, a->t);
        for (int e = 0; e < EVENTS; ++e)
            if (due[e]) {
                a->done[e] = 1;
                a->over |= event_end[e] != 0.0;
            }
        if (again)
            switch_brakes(a, due);
        again = arrest(a) || again || turn_holders(a);
        changed |= again;
    }
#if @NAME@_SAMPLED
    if (tick(a)) /* and what holds may then slip */
        return @NAME@_update(a) || changed;
#endif
    for (int k = 0; k < LOOKS; ++k)
        if (look_corner[k] < HUGE_VAL && !(a->side[k] * (a->seen[k] - look_corner[k]) > 0.0))
            a->side[k] = a->seen[k] > look_corner[k] ? 1 : -1;
#if @NAME@_ATTITUDES
    for (int k = 0; k < ATTITUDES; ++k)
        if (fabs(a->x[(int)attitude_at[k] + 1]) > turn_limit[0]) {
            flexarm_@NAME@_anew(a->x, a->d, a->trial, a->reference_attitudes, a->work);
            memcpy(a->x, a->trial, sizeof a->x);
            memcpy(a->d, a->reference_attitudes, sizeof a->reference_attitudes);
            return 1;
        }
#endif
    return changed;
}

int @NAME@_is_over(const struct @NAME@ *a)
{
    for (int k = 0; k < @NAME@_BOUNDS; ++k)
        if (@NAME@_distance(k, a->x) < 0.0)
            return 1;
    return a->over;
}

/* Root mean square of an error, relative to the usual sizes of the states. */
static double nominal_error(struct RungeKuttaState *m, const double *error)
{
    double sum = 0.0;
    for (int i = 0; i < N; ++i) {
        const double size = fmax(@NAME@_usual[i], fmax(fabs(m->y[i]), fabs(m->y_new[i])));
        sum += error[i] / size * (error[i] / size);
    }
    return sqrt(sum / N);
}

@KERNELS@
/* Take a step of a length: the state after it is in a->trial. */
static void try_step(struct RungeKuttaState *m, double h)
{
    m->h = h;
    kernel_explicit_step(m);
}

/* Look at a state x at t; 1 if something has happened before it. Bounds come last in z. */
static int is_beyond(struct @NAME@ *a, double t, const double *x, double *z)
{
    int found = 0;
    if (SIGHTS) {
        @NAME@_rate(a, t, x, a->f);
        sights(a, t, x, z);
    }
    for (int k = 0; k < @NAME@_BOUNDS; ++k)
        z[SIGHTS + k] = @NAME@_distance(k, x);
    for (int k = 0; k < WATCHED; ++k)
        found |= z[k] < 0.0;
    return found;
}

/* Take a step to a part of h; 1 if something has happened before its end. */
static int is_beyond_at(struct @NAME@ *a, struct RungeKuttaState *m, double h, double *z)
{
    try_step(m, h);
    return is_beyond(a, a->t + h, a->trial, z);
}

/* Give where a parabola through three points (x, z) is least, and how low it is there; 0 if nowhere
 * between the outer ones. */
static int least(const double *x, const double *z, double *place, double *value)
{
    const double left = (z[1] - z[0]) / (x[1] - x[0]), right = (z[2] - z[1]) / (x[2] - x[1]);
    const double bend = (right - left) / (x[2] - x[0]);
    *place = 0.5 * (x[0] + x[1] - left / bend);
    *value = z[0] - bend * (*place - x[0]) * (*place - x[0]);
    return bend > 0.0 && *place > x[0] && *place < x[2];
}

/* Go by steps to where sight k is least between three places x of which z is known; how far it is
 * to one at which something has happened, or 0. */
static double descend(struct @NAME@ *a, struct RungeKuttaState *m, int k, double *x, double *z)
{
    double here[WATCHED + 1], place, value;
    for (int count = 0; count < 8 && least(x, z, &place, &value); ++count) {
        const double moved = fabs(place - x[1]), lowest = z[1];
        const int toward = place > x[1] ? 2 : 0;
        if (is_beyond_at(a, m, place, here))
            return place;
        if (count && (moved < 1e-6 * place || value > 0.5 * fmin(here[k], lowest)))
            return 0.0;
        if (count && here[k] >= lowest) {
            x[toward] = place, z[toward] = here[k];
            continue;
        }
        if (count) /* at first the middle is a cubic's */
            x[2 - toward] = x[1], z[2 - toward] = lowest;
        x[1] = place, z[1] = here[k];
    }
    return 0.0;
}

/* Look at quarters of a step to a->trial by a cubic, and go where parabolas through them come near
 * 0; give the time from its begin at which something has happened, or 0. */
static double glimpse(struct @NAME@ *a, struct RungeKuttaState *m, double h)
{
    double z[5][WATCHED + 1], first[N], last[N], end[N], here[WATCHED + 1];
    memcpy(end, a->trial, sizeof end);
    @NAME@_rate(a, a->t, a->x, first);
    sights(a, a->t, a->x, z[0]);
    @NAME@_rate(a, a->t + h, end, last);
    sights(a, a->t + h, end, z[4]);
    for (int j = 1; j < 4; ++j) {
        const double s = 0.25 * j;
        for (int i = 0; i < N; ++i) {
            const double change = end[i] - a->x[i];
            a->trial[i] = a->x[i] + s * (change + (1.0 - s) * ((1.0 - s) * (h * first[i] - change)
                                                               + s * (change - h * last[i])));
        }
        if (is_beyond(a, a->t + s * h, a->trial, z[j]) && is_beyond_at(a, m, s * h, here))
            return s * h;
    }
    for (int k = 0; k < SIGHTS; ++k)
        for (int j = 1; j < 4; ++j) {
            double x[3] = {0.25 * (j - 1) * h, 0.25 * j * h, 0.25 * (j + 1) * h}, place, value;
            double seen[3] = {z[j - 1][k], z[j][k], z[j + 1][k]};
            const double most = fmax(seen[0], fmax(seen[1], seen[2]));
            if (least(x, seen, &place, &value) && value < 0.1 * (most - value)) {
                const double found = descend(a, m, k, x, seen);
                if (found > 0.0)
                    return found;
            }
        }
    memcpy(a->trial, end, sizeof end);
    return 0.0;
}

/* Make a step to a->trial end where something first happens in it; its length. */
static double shorten(struct @NAME@ *a, struct RungeKuttaState *m, double h)
{
    double early[WATCHED + 1], late[WATCHED + 1], here[WATCHED + 1], before = 0.0, end = h;
    if (!is_beyond(a, a->t + h, a->trial, late)) {
        end = SIGHTS ? glimpse(a, m, h) : 0.0;
        if (!(end > 0.0))
            return h;
        is_beyond(a, a->t + end, a->trial, late);
    }
    is_beyond(a, a->t, a->x, early);
    for (int count = 0; count < 60 && end - before > 1e-15 * (fabs(a->t) + end); ++count) {
        double middle = 0.5 * (before + end);
        for (int k = 0; count % 3 < 2 && k < WATCHED; ++k)
            if (late[k] < 0.0 && early[k] > 0.0) { /* a secant, to either side of it in turn */
                const double way = (end - before) * early[k] / (early[k] - late[k]);
                const double aside = count % 3 ? -1e-3 : 1e-3;
                middle = fmin(middle, before + way + aside * fmin(way, end - before - way));
            }
        if (!(middle > before && middle < end))
            break;
        if (is_beyond_at(a, m, middle, here)) {
            end = middle;
            memcpy(late, here, sizeof here);
        } else {
            before = middle;
            memcpy(early, here, sizeof here);
        }
    }
    try_step(m, end);
    return end;
}

/* Go on to a stop that is too near for a step; 1 if it is. */
static int is_at(struct @NAME@ *a, double stop)
{
    if (stop - a->t > rounding(stop))
        return 0;
    a->t = stop;
    @NAME@_update(a);
    return 1;
}

/* Go to t_end by steps of a method, each as far as nothing happens in it. */
static int advance(struct @NAME@ *a, struct RungeKuttaState *m, double t_end)
{
    int known = 0; /* whether a->rate is that of the state */
    @NAME@_update(a);
    if (@NAME@_is_over(a))
        return @NAME@_OUTSIDE;
    m->system = a, m->size = N;
    m->y = a->x, m->f = a->rate, m->y_new = a->trial, m->f_new = a->next;
    m->k = a->k, m->trial = a->stage;
    while (a->t < t_end) {
        const double stop = fmin(@NAME@_pass(a), t_end);
        double h, done;
        int last, good;
        if (is_at(a, stop)) {
            known = 0;
            continue;
        }
        if (!known)
            @NAME@_rate(a, a->t, a->x, a->rate);
        known = 1;
        m->t = a->t, m->steps = a->steps;
        last = (int)kernel_choose_step(m, stop, m->largest);
        if (a->t + m->h <= a->t)
            return @NAME@_FAILED;
        h = m->h;
        try_step(m, h);
        good = (int)kernel_healthy(m);
        if (kernel_is_rejected(m, good))
            continue;
        if (!good)
            return @NAME@_FAILED;
        kernel_choose_next(m, last);
        done = WATCHED ? shorten(a, m, h) : h;
        known = !last && !(done < h);
        memcpy(a->x, a->trial, sizeof a->x);
        memcpy(a->rate, a->next, sizeof a->rate);
        a->t = done < h || !last ? a->t + done : stop;
        ++a->steps;
        known &= !@NAME@_update(a);
        if (@NAME@_is_over(a))
            return @NAME@_OUTSIDE;
    }
    @NAME@_update(a);
    return @NAME@_OK;
}

int @NAME@_rk4(struct @NAME@ *a, double t_end, double step)
{
    struct RungeKuttaState m = {.stages = 4, .a = rk4_a, .b = rk4_b, .c = rk4_c};
    m.next_step = step, m.largest = HUGE_VAL;
    return advance(a, &m, t_end);
}

int @NAME@_dop853(struct @NAME@ *a, double t_end, double tolerance)
{
    struct RungeKuttaState m = {.stages = 12, .a = dop853_a, .b = dop853_b, .c = dop853_c};
    int status;
    m.e = dop853_e, m.e3 = dop853_e3, m.adaptive = 1, m.order = 8, m.tolerance = tolerance;
    m.largest = largest_step, m.last_error = a->last_error;
    m.next_step = a->h > 0.0 ? a->h : 0.01 * largest_step;
    status = advance(a, &m, t_end);
    a->h = m.next_step, a->last_error = m.last_error;
    return status;
}
