#include "@FILE@.h"

#include <math.h>
#include <string.h>

#include "equations.h"

#define N @NAME@_STATES

@TABLES@

/* Coefficients of explicit Runge-Kutta methods. */
@METHODS@

#define HOLDERS @NAME@_HOLDERS
#define EVENTS @NAME@_EVENTS
#define LOOKS @NAME@_LOOKS
#define COORDINATES @NAME@_COORDINATES
#define ATTITUDES @NAME@_ATTITUDES
#define SIGHTS (LOOKS + HOLDERS)
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

/* What the loops below take for an arm: errors relative to the usual sizes of its states, distances
 * to bounds, and jumps of functions of time; coordinates that are prescribed are no states. */
@RECORDS@

static double nominal_error(struct RungeKuttaState *m, const double *error)
{
    double sum = 0.0;
    for (int i = 0; i < N; ++i) {
        const double size = fmax(@NAME@_usual[i], fmax(fabs(m->y[i]), fabs(m->y_new[i])));
        sum += error[i] / size * (error[i] / size);
    }
    return sqrt(sum / N);
}

static double limit_margin(struct RungeKuttaState *m, long long bound, const double *x)
{
    (void)m;
    if (bound < @NAME@_BOUNDS)
        return @NAME@_distance((int)bound, x);
    /* Attitudes near gimbal lock get other references, between two steps. */
    return turn_limit[0] - fabs(x[(int)attitude_at[bound - @NAME@_BOUNDS] + 1]);
}

static void pass_pieces(struct @NAME@ *a, double t)
{
    (void)t;
    @NAME@_pass(a);
}

static void keep_prescribed(struct @NAME@ *a, double t, const double *x)
{
    (void)a, (void)t, (void)x;
}

static void keep_sizes(struct RungeKuttaState *m) { (void)m; }

static double whole_step(struct RungeKuttaState *m) { return m->h; }

/* Rules of brakes and dry friction, which hold (0), slip (-1, 1) or are open; steps, and the search
 * for what happens within them. */
@RULES@

@KERNELS@
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
    flexarm_@NAME@_rates(&t, &a->since, x, a->u, a->d, rate, a->seen, a->seen_rates, a->work);
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

/* Efforts that hold what stands still are found so that it does, and refined once. */
static void hold(struct @NAME@ *a, double t, const double *x, double *rate)
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

/* Rates, and what is looked out for: of what holds its effort, of what slips its rate. */
void @NAME@_rate(struct @NAME@ *a, double t, const double *x, double *rate)
{
    hold(a, t, x, rate);
    for (int k = 0; k < HOLDERS; ++k) {
        a->seen[LOOKS + k] = a->closed[k] == 0 ? a->d[EFFORT(k)] : x[RATE_OF(k)];
        a->seen_rates[LOOKS + k] = a->closed[k] == 0 ? 0.0 : rate[RATE_OF(k)];
    }
}

void @NAME@_output(struct @NAME@ *a, double *y)
{
    flexarm_@NAME@_outputs(&a->t, &a->since, a->x, a->d, y, a->work);
}

void @NAME@_change(struct @NAME@ *a, const double *dx, const double *du, double *rate, double *y)
{
    int stuck[HOLDERS + 1], m = 0;
    double share[HOLDERS + 1], *here = a->trial;
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
    const double now = a->t + kernel_rounding(a->t);
    double seen[3 * SAMPLED], asked[SAMPLED], rate[SAMPLED];
    int changed = 0;
    for (int k = 0; k < SAMPLED; ++k) {
        const double passed = ceil((a->t - kernel_rounding(a->t)) / servo_period[k]);
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

/* Set the bounds of what is looked out for, by what it is last seen at: within them nothing happens. */
static void watch(struct @NAME@ *a)
{
    kernel_choose_sides(LOOKS, a->seen, look_corner, a->low, a->high);
    for (int e = 0; e < EVENTS; ++e) {
        const int k = (int)event_look[e], open = a->done[e] || a->t < event_from[e];
        if (k >= 0) {
            a->low[k] = open ? -HUGE_VAL : event_low[e];
            a->high[k] = open ? HUGE_VAL : event_high[e];
        }
    }
    for (int k = 0; k < HOLDERS; ++k) {
        const int way = a->closed[k];
        a->low[LOOKS + k] = way == 0 ? -capacity(a, k) : way == 1 ? 0.0 : -HUGE_VAL;
        a->high[LOOKS + k] = way == 0 ? capacity(a, k) : way == -1 ? 0.0 : HUGE_VAL;
    }
}

void @NAME@_indicators(struct @NAME@ *a, double *z)
{
    for (int k = 0; k < @NAME@_BOUNDS; ++k)
        z[k] = @NAME@_distance(k, a->x);
    z += @NAME@_BOUNDS;
    if (SIGHTS)
        @NAME@_rate(a, a->t, a->x, a->f);
    for (int k = 0; k < SIGHTS; ++k) {
        z[k] = fmin(a->seen[k] - a->low[k], a->high[k] - a->seen[k]);
        if (!(z[k] < HUGE_VAL))
            z[k] = 1.0;
    }
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
    watch(a);
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

/* Go to t_end by steps of a method, each as far as nothing happens in it. */
static int advance(struct @NAME@ *a, struct RungeKuttaState *m, double t_end)
{
    m->system = a, m->size = N, m->steps = a->steps, m->sample_count = 1;
    m->y = a->x, m->f = a->rate, m->y_new = a->trial, m->f_new = a->next, m->y_old = a->last;
    m->f_old = a->rates_before, m->trial = a->stage, m->k = a->k, m->polynomial = a->polynomial;
    m->sampled = a->sampled, m->samples = a->inner_rates, m->inner_rates = a->inner_rates;
    m->event_count = SIGHTS, m->event_values = a->seen, m->event_rates = a->seen_rates;
    m->event_values_at_t = a->seen_at_t, m->event_rates_at_t = a->seen_rates_at_t;
    m->event_low = a->low, m->event_high = a->high, m->event_stays = look_stays;
    m->inner_values = a->inner, m->checks_within = SIGHTS > 0;
    m->state_limits = @NAME@_BOUNDS + ATTITUDES, m->limit_low = bound_low, m->limit_high = bound_high;
    @NAME@_update(a);
    while (a->t < t_end && !@NAME@_is_over(a)) {
        long long code;
        double end = -1.0;
        m->t = a->t, m->t_end = fmin(@NAME@_pass(a), t_end), m->recorded = 0;
        do {
            m->budget = MOST_STEPS;
            code = kernel_march(m);
            if (code == EVENT_FOUND)
                end = kernel_locate(m);
            else if (code == LIMIT_REACHED)
                end = kernel_bisect_exit(m, m->t, m->limit_reached, 0.0);
        } while (code == RUNNING || (code == EVENT_FOUND && end < 0.0));
        if (code == BROKEN || code == NO_STEP)
            return @NAME@_FAILED;
        if (code != FINISHED)
            kernel_stop_at(m, end, end);
        a->t = m->t, a->steps = (long)m->steps;
        @NAME@_update(a);
    }
    return @NAME@_is_over(a) ? @NAME@_OUTSIDE : @NAME@_OK;
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
    m.sample = 1, m.extra = 3, m.terms = 7, m.d = dop853_d;
    m.e = dop853_e, m.e3 = dop853_e3, m.adaptive = 1, m.order = 8, m.tolerance = tolerance;
    m.largest = largest_step, m.last_error = a->last_error;
    m.next_step = a->h > 0.0 ? a->h : 0.01 * largest_step;
    status = advance(a, &m, t_end);
    a->h = m.next_step, a->last_error = m.last_error;
    return status;
}
