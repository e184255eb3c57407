/**
 * The colours of terminal output, from its SGR sequences. Only styles that every theme can show legibly are kept: the basic hues,
 * bold, dim, italic and underlined; shades become the nearest hue, black and white become the text's own colour, backgrounds are
 * dropped.
 */
const SGR = /\u001b\[([\d;:]*)m/g;

const HUES = [null, "red", "green", "yellow", "blue", "magenta", "cyan", null] as const;
const FACES: Record<number, string> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline" };
const FACES_OFF: Record<number, string[]> = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"] };
/** A shade whose strongest and weakest components are closer than this is a grey. */
const GREY_SPREAD = 48;

/** A run of text in one style; a style is the names of its hue and faces, separated by spaces. */
export interface Run {
  text: string;
  style: string;
}

/** A text with SGR sequences, in runs; `style` is the style at its beginning. */
export function runsOf(text: string, style: string): Run[] {
  const runs: Run[] = [];
  let [at, current] = [0, style];
  for (const found of text.matchAll(SGR)) {
    if (found.index > at) runs.push({ text: text.slice(at, found.index), style: current });
    current = applied(current, found[1] ?? "");
    at = found.index + found[0].length;
  }
  if (at < text.length) runs.push({ text: text.slice(at), style: current });
  return runs;
}

/** The style after a text. */
export function styleAfter(text: string, style: string): string {
  let current = style;
  for (const found of text.matchAll(SGR)) current = applied(current, found[1] ?? "");
  return current;
}

export function withoutColours(text: string): string {
  return text.replace(SGR, "");
}

function applied(style: string, sequence: string): string {
  const codes = sequence.split(/[;:]/).map(Number);
  const faces = new Set(style.split(" ").filter((name) => name !== "" && !isHue(name)));
  let hue = style.split(" ").find(isHue) ?? null;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) {
      faces.clear();
      hue = null;
    } else if (FACES[code] !== undefined) faces.add(FACES[code]);
    else if (FACES_OFF[code] !== undefined) for (const face of FACES_OFF[code]) faces.delete(face);
    else if (code === 39) hue = null;
    else if (code === 90) hue = "grey";
    else if ((code >= 30 && code <= 37) || (code > 90 && code <= 97)) hue = HUES[code % 10] ?? null;
    else if (code === 38 || code === 48) {
      const [kind, ...rest] = codes.slice(at + 1);
      if (code === 38) hue = kind === 5 ? hueOfIndex(rest[0] ?? 0) : hueOfShade(rest[0] ?? 0, rest[1] ?? 0, rest[2] ?? 0);
      at += kind === 5 ? 2 : 4;
    }
  }
  return [...(hue === null ? [] : [hue]), ...[...faces].toSorted()].join(" ");
}

function isHue(name: string): boolean {
  return name === "grey" || HUES.some((hue) => hue === name);
}

/** One of the 256 colours: 16 basic ones, a cube of 6 × 6 × 6, greys. */
function hueOfIndex(index: number): string | null {
  if (index < 16) return index === 8 ? "grey" : (HUES[index % 8] ?? null);
  if (index >= 232) return null;
  const level = (part: number) => (part % 6) * 51;
  return hueOfShade(level(Math.floor((index - 16) / 36)), level(Math.floor((index - 16) / 6)), level(index - 16));
}

function hueOfShade(red: number, green: number, blue: number): string | null {
  const [least, most] = [Math.min(red, green, blue), Math.max(red, green, blue)];
  if (most - least < GREY_SPREAD) return null;
  const middle = (least + most) / 2;
  return HUES[(red > middle ? 1 : 0) + (green > middle ? 2 : 0) + (blue > middle ? 4 : 0)] ?? null;
}
