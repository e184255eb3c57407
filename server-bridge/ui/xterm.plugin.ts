/**
 * Lets xterm style itself under a content security policy without inline styles: where it makes a `<style>` element or
 * writes a `style` attribute, it calls `src/panels/terminal/styleSheets.ts` instead. The build fails for a release of
 * xterm in which these places differ.
 */
import type { Plugin } from "vite";

/** The path of the functions, from the root of the web app. */
const SHEETS = "/src/panels/terminal/styleSheets.ts";

const MODULE = /@xterm\/xterm\/lib\/xterm\.mjs$/;

/** The text to replace, its replacement, and the number of occurrences. */
const PLACES: [RegExp, string, number][] = [
  [/[\w.]+\.createElement\("style"\)/g, "sandbridgeSheet()", 3],
  [/([\w$]+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{([\w$]+)\};`\)/g, "sandbridgeStyle($1,$2)", 1],
  [/setAttribute\("style"|createElement\("style"\)/g, "", 0],
];

export function xtermWithoutInlineStyles(): Plugin {
  return {
    name: "xterm-without-inline-styles",
    enforce: "pre",
    transform(code, id) {
      if (!MODULE.test(id.split("?")[0] ?? "")) return null;
      let changed = code;
      for (const [place, replacement, count] of PLACES) {
        const found = changed.match(place)?.length ?? 0;
        if (found !== count) this.error(`xterm has ${found} places like ${place} instead of ${count}: adapt xterm.plugin.ts`);
        changed = changed.replace(place, replacement);
      }
      const helpers = `import { sheetElement as sandbridgeSheet, addStyle as sandbridgeStyle } from ${JSON.stringify(SHEETS)};\n`;
      return { code: helpers + changed, map: null };
    },
  };
}
