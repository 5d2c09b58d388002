/* Run @TITLE@ and print time and states: ./example [t_end [step]], rk4 if there is a step. */
#include <stdio.h>
#include <stdlib.h>

#include "@FILE@.h"

int main(int argc, char **argv)
{
    static struct @NAME@ arm;
    const double t_end = argc > 1 ? atof(argv[1]) : 1.0, step = argc > 2 ? atof(argv[2]) : 0.0;
    int status = @NAME@_OK;
    @NAME@_start(&arm);
    for (int k = 0; k <= 100 && status == @NAME@_OK; ++k) {
        const double t = k * t_end / 100;
        status = step > 0.0 ? @NAME@_rk4(&arm, t, step) : @NAME@_dop853(&arm, t, 1e-10);
        printf("%.17g", arm.t);
        for (int i = 0; i < @NAME@_STATES; ++i)
            printf(",%.17g", arm.x[i]);
        printf("\n");
    }
    return status;
}
