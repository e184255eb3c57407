/** Sizes as text. Pure. */
const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB"];

/** A size such as "17 B", "1.2 KiB" or "340 MiB". */
export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  let value = bytes;
  let unit = -1;
  // A value that would round up to 1,024 is given in the next unit.
  while (value >= 1_023.5 && unit < UNITS.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}
