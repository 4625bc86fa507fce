// Durations, offsets, clock times and figures as the look words them.

/** @type {import('./model.d.ts').Time} */
export const browserTime = {
  now: () => Date.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
};

/** @param {number} value */
const two = (value) => String(value).padStart(2, '0');

/**
 * `2m 14s`, `1h 02m`, `3d 04h`: whole units.
 * @param {number} seconds
 */
function long(seconds) {
  const whole = Math.floor(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(whole / 86_400)}d ${two(Math.floor((whole % 86_400) / 3600))}h`;
}

/**
 * How long something took: `640ms`, `41.3s`, `2m 14s`, `1h 02m`.
 * @param {number} seconds
 */
export function duration(seconds) {
  const past = Math.max(0, seconds);
  if (past < 0.9995) return `${Math.round(past * 1000)}ms`;
  if (past < 59.95) return `${past.toFixed(1)}s`;
  return long(Math.max(60, past));
}

/**
 * How long something takes so far: whole seconds, so that only the last digit moves.
 * @param {number} seconds
 */
export function running(seconds) {
  const past = Math.max(0, Math.floor(seconds));
  return past < 60 ? `${past}s` : long(past);
}

/**
 * What is left, roughly: `about 40s left`, `about 2m left`, `about 1h 10m left`.
 * @param {number} seconds
 */
export function left(seconds) {
  if (seconds < 50) return `about ${Math.max(1, seconds < 10 ? Math.round(seconds) : Math.round(seconds / 5) * 5)}s left`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `about ${minutes}m left`;
  const tens = Math.round(minutes / 10) * 10;
  return `about ${Math.floor(tens / 60)}h ${two(tens % 60)}m left`;
}

/**
 * When, counted from the beginning of a Run: `0:12.5`, `1:02:05.0`.
 * @param {number} seconds
 */
export function offset(seconds) {
  const tenths = Math.round(Math.max(0, seconds) * 10);
  const rest = `${two(Math.floor(tenths / 10) % 60)}.${tenths % 10}`;
  const minutes = Math.floor(tenths / 600);
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`;
}

/**
 * The time of day here: `14:31:08`.
 * @param {number} milliseconds since 1970
 */
export function clock(milliseconds) {
  const at = new Date(milliseconds);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/**
 * A mark of an axis: `0s`, `500ms`, `30s`, `1m 30s`, `2h`.
 * @param {number} seconds
 */
export function mark(seconds) {
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  if (seconds < 60) return `${Math.round(seconds * 10) / 10}s`;
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), Math.round(seconds % 60)];
  const parts = [hours && `${hours}h`, minutes && `${minutes}m`, rest && `${rest}s`].filter(Boolean);
  return parts.join(' ');
}

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200];

/**
 * Where an axis of that many seconds has its marks: at round figures, at most seven of them, none too near the end.
 * @param {number} span
 */
export function marks(span) {
  const step = STEPS.find((each) => span / each <= 6) ?? Math.ceil(span / 6 / 86_400) * 86_400;
  const count = Math.floor((span * 0.92) / step);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/**
 * `57%`; all of it only when all is done.
 * @param {number} fraction
 */
export const percent = (fraction) => `${fraction >= 1 ? 100 : Math.min(99, Math.round(fraction * 100))}%`;

const grouped = new Intl.NumberFormat('en-US');

/**
 * `1,205`; fractions keep at most three digits.
 * @param {number} value
 */
export const count = (value) => grouped.format(value);

/**
 * `1 message`, `42 messages`.
 * @param {number} value
 * @param {string} word
 */
export const some = (value, word) => `${count(value)} ${word}${value === 1 ? '' : 's'}`;

/**
 * `900 bytes`, `12 kB`, `1.4 MB`.
 * @param {number} bytes
 */
export function size(bytes) {
  if (bytes < 1000) return some(bytes, 'byte');
  return bytes < 999_500 ? `${count(Math.round(bytes / 1000))} kB` : `${count(Math.round(bytes / 100_000) / 10)} MB`;
}
