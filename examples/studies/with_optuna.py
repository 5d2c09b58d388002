"""The stiffness at which the first frequency of a link, its joint locked, is 4 Hz, by Optuna."""

import optuna

import flexarm

arm, key = flexarm.example_arm("driven-link"), "links.1.section.EIz"
search = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
for _ in range(16):
    trial = search.ask({key: optuna.distributions.FloatDistribution(20, 80)})
    found = flexarm.modes(flexarm.change_arm(arm, trial.params), joints="locked")
    search.tell(trial, abs(found.modes[0].frequency_hz - 4))
print(search.best_params)
assert search.best_value < 0.1, search.best_value
