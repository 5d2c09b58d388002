// Time that runs: plays, pauses, seeks, and calls back for every picture that is needed.

const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const PLEASANT = 8; // [s] that a run should last on the screen
const PATIENT = 30; // [s] that what an arm plays may last there
const SWINGS = 1.5; // [Hz] at which a vibration is followed best,
const SEEN = [0.3, 4]; // and between which it is left as it is
const KEPT = 600;

/**
 * Makes a player from `start` to `end` [s]; `picture(t)` returns the times that its parts took.
 * While `growing`, there is more to come at the end: it waits there.
 */
export function makePlayer(start, end, picture) {
  const player = {
    start, end, time: start, playing: false, rate: pleasantRate(end - start), rates: RATES,
    growing: false, costs: [], pictures: [], changed: () => {},
  };
  let last = null;
  let wanted = true;
  const tick = (now) => {
    if (player.playing) {
      const passed = last === null ? 0 : Math.min((now - last) / 1000, 0.25);
      advance(player, passed * player.rate);
    }
    last = now;
    if (wanted || player.playing) {
      wanted = false;
      keep(player.costs, picture(player.time));
      keep(player.pictures, now);
    }
    requestAnimationFrame(tick);
  };
  player.refresh = () => {
    wanted = true;
  };
  player.begin = () => requestAnimationFrame(tick);
  return player;
}

function keep(list, value) {
  list.push(value);
  if (list.length > KEPT) list.shift();
}

function pleasantRate(duration) {
  if (duration >= 3 && duration <= 30) return 1;
  const off = (rate) => Math.abs(Math.log(duration / rate / PLEASANT));
  return RATES.reduce((best, rate) => (off(rate) < off(best) ? rate : best), 1);
}

/**
 * Finds the rate at which an arm is seen to move: its slowest vibration [Hz] neither blurs nor creeps,
 * and what it plays [s] takes no minutes, if `most` lets it.
 */
export function seenRate(hz, lasts, most) {
  const off = (rate) => Math.abs(Math.log((rate * hz) / SWINGS));
  const plain = !hz || (hz > SEEN[0] && hz < SEEN[1]);
  const seen = plain ? 1 : RATES.reduce((best, rate) => (off(rate) < off(best) ? rate : best), 1);
  const least = RATES.find((rate) => rate * PATIENT >= lasts) ?? Infinity;
  return RATES.filter((rate) => rate <= Math.min(Math.max(seen, least), Math.max(most, 1))).pop();
}

function advance(player, by) {
  const next = player.time + by;
  if (next <= player.end) player.time = next;
  else player.time = player.growing ? player.end : player.start;
}

/** Plays, or pauses. */
export function play(player, playing) {
  if (playing && !player.growing && player.time >= player.end) player.time = player.start;
  player.playing = playing;
  player.refresh();
  player.changed();
}

/** Goes to a time, within the run. */
export function seek(player, time) {
  player.time = Math.min(Math.max(time, player.start), player.end);
  player.refresh();
  player.changed();
}

/** Lets time end later; who stood at the end goes along, who plays plays on. */
export function prolong(player, end, growing) {
  const last = !player.playing && player.time >= player.end;
  player.end = end;
  player.growing = growing;
  if (last || player.time > end) player.time = end;
  player.refresh();
  player.changed();
}

/** Takes the next faster or slower rate. */
export function changeRate(player, by) {
  const at = RATES.indexOf(player.rate) + by;
  player.rate = RATES[Math.min(Math.max(at, 0), RATES.length - 1)];
  player.changed();
}
