// A short tone for a mode: its frequency, octaves up or down until it can be heard.
import { digits } from "./colours.js";

const LOW = 150; // [Hz]
const LASTS = 1.6; // [s]
let audio = null;

/** How many octaves a frequency is moved to be heard. */
export const octavesOf = (hz) => Math.ceil(Math.log2(LOW / hz));

/** Plays a frequency [Hz] that dies away; only ever after a click, as browsers want it. */
export function playTone(hz) {
  const Context = window.AudioContext ?? window.webkitAudioContext;
  if (!Context || !(hz > 0)) return;
  audio ??= new Context();
  audio.resume();
  const now = audio.currentTime;
  const volume = audio.createGain();
  volume.gain.setValueAtTime(0.0001, now);
  volume.gain.exponentialRampToValueAtTime(0.2, now + 0.02);
  volume.gain.exponentialRampToValueAtTime(0.0001, now + LASTS);
  volume.connect(audio.destination);
  const source = audio.createOscillator();
  source.type = "triangle";
  source.frequency.value = hz * 2 ** octavesOf(hz);
  source.connect(volume);
  source.start(now);
  source.stop(now + LASTS);
}

/** Says how a frequency is heard. */
export function heard(hz) {
  const octaves = octavesOf(hz);
  if (!octaves) return "heard as it is";
  const count = Math.abs(octaves);
  return `heard ${count} octave${count > 1 ? "s" : ""} ${octaves > 0 ? "up" : "down"}, at ${digits(hz * 2 ** octaves)} Hz`;
}
