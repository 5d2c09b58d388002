// Sliders of a live arm: its settings, and per joint a servo's target and a torque.
import { digits } from "./colours.js";
import { make, named } from "./dom.js";

/** Makes a slider with its name and value; `shape` turns its place into the value and back. */
function slider(name, { low, high, value, unit, log = false, write = (x) => `${digits(x)} ${unit}` }, changed) {
  const there = log ? Math.log : (x) => x;
  const back = log ? Math.exp : (x) => x;
  const input = make("input", { type: "range", min: there(low), max: there(high), step: "any" });
  const output = make("output", {});
  const say = () => {
    output.textContent = write(back(Number(input.value)));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const set = (x) => {
    input.value = there(Math.min(Math.max(x, low), high));
    say();
  };
  set(value);
  input.addEventListener("input", () => {
    say();
    changed(back(Number(input.value)));
  });
  input.addEventListener("dblclick", () => {
    set(value);
    changed(value);
  });
  return { label: make("label", { class: "knob" }, make("span", {}, name), input, output), input, set };
}

/** Makes the sliders of the settings; `changed` gets all of their values. */
export function settingKnobs(place, settings, changed) {
  const values = settings.map(({ value }) => value);
  const made = settings.map((each, k) => {
    const write = each.key === "damping" ? (x) => `+${digits(100 * x)} %` : undefined;
    const knob = slider(each.name, { ...each, write }, (x) => {
      values[k] = x;
      changed(values);
    });
    knob.input.dataset.setting = each.key;
    if (each.useful) place.append(knob.label);
    return knob;
  });
  return {
    put: (key, x) => {
      const k = settings.findIndex((each) => each.key === key);
      made[k].set(x);
      values[k] = x;
      changed(values);
    },
    restore: () => settings.forEach((each, k) => {
      made[k].set(each.value);
      values[k] = each.value;
      changed(values);
    }),
  };
}

/** Makes a servo's target and switch, and a torque, for each joint; `changed` is told of changes. */
export function jointKnobs(place, joints, changed) {
  return joints.map((joint, k) => {
    const own = joint.played !== null; // its file has a servo for it
    const state = { on: true, played: own, target: joint.start, torque: 0 };
    const angle = joint.unit === "rad";
    const write = (x) => (angle ? `${digits((x * 180) / Math.PI)}°` : `${digits(x)} m`);
    const target = slider("target", { low: joint.low, high: joint.high, value: joint.start, write }, (x) => {
      state.target = x;
      byHand();
      changed(k, state);
    });
    const torque = slider(angle ? "torque" : "force", {
      low: -joint.most, high: joint.most, value: 0, unit: joint.effort,
    }, (x) => {
      state.torque = x;
      changed(k, state);
    });
    target.input.dataset.target = torque.input.dataset.torque = joint.name;
    const box = make("input", { type: "checkbox", checked: true, "data-servo": joint.name });
    box.addEventListener("change", () => {
      state.on = box.checked;
      target.input.disabled = !box.checked;
      byHand();
      changed(k, state);
    });
    const file = make("input", { type: "checkbox", checked: true, "data-played": joint.name });
    file.addEventListener("change", () => {
      state.played = file.checked;
      if (file.checked) state.on = box.checked = true;
      target.input.disabled = false;
      changed(k, state);
    });
    function byHand() {
      state.played = file.checked = false;
    }
    const choice = make("label", { class: "check" }, file, "as in its file");
    const head = make(
      "div", { class: "joint" }, named(joint.name), ...(own ? [choice] : []),
      make("label", { class: "check" }, box, "servo"),
    );
    place.append(make("div", { class: "knobs" }, head, target.label, torque.label));
    return {
      state,
      follow: (targets) => {
        if (state.played) target.set((state.target = targets[joint.played]));
      },
      relax: () => {
        torque.set(0);
        target.set(joint.start);
        Object.assign(state, { torque: 0, target: joint.start, on: true, played: own });
        box.checked = true;
        file.checked = own;
        target.input.disabled = false;
        changed(k, state);
      },
    };
  });
}
