import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { xtermWithoutInlineStyles } from "./xterm.plugin.ts";

/** The address at which `npm run dev` expects a running server. */
const DEVELOPMENT_SERVER = "http://127.0.0.1:8080";

/** Puts a compressed copy next to each text file, for browsers that accept it, so that the server need not compress. */
function compressed(): Plugin {
  return {
    name: "compressed",
    writeBundle({ dir = "" }, bundle) {
      for (const [name, file] of Object.entries(bundle)) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue;
        writeFileSync(join(dir, `${name}.gz`), gzipSync(file.type === "chunk" ? file.code : file.source, { level: 9 }));
      }
    },
  };
}

/** Keeps only one of the three font formats that KaTeX offers, which every supported browser reads. */
function oneFontFormat(): Plugin {
  return {
    name: "one-font-format",
    enforce: "pre",
    transform: (code, id) => (id.includes("katex.min.css") ? code.replace(/,url\([^)]*\.(?:woff|ttf)\) format\("[^"]*"\)/g, "") : null),
  };
}

/** Modules that the first view and lazy modules share: each would otherwise become a chunk, which costs the first view a request. */
const FIRST_VIEW = [
  {
    name: "vendor",
    test: /node_modules[\\/](react|react-dom|scheduler|i18next|react-i18next|@?radix-ui|@floating-ui|lucide-react|openapi-fetch|@tanstack|react-virtuoso|devlop|unist-util-[a-z-]+|micromark-(factory-space|util-character)|longest-streak)[\\/]/,
  },
  {
    name: "base",
    test: /src[\\/](kit|lib|state|api|where|i18n[\\/](en|index)|panels[\\/](index|open)|settings[\\/](parts|settings\.module|PasswordField)|frame[\\/](Logo|frame\.module)|chat[\\/]cards[\\/](cards\.module|toolLook)|types)|preload-helper|rolldown[\\/]runtime/,
  },
];

export default defineConfig({
  plugins: [react(), xtermWithoutInlineStyles(), compressed(), oneFontFormat()],
  // A replacement without style elements, which the content security policy refuses.
  resolve: { alias: { "react-style-singleton": "/src/kit/styleSingleton.ts" } },
  // Otherwise the development server bundles it beforehand, bypassing the plugin.
  optimizeDeps: { exclude: ["@xterm/xterm"] },
  build: {
    outDir: "dist",
    // No data: URLs: every asset is a file with a hashed name, which browsers may cache forever.
    assetsInlineLimit: 0,
    // Browsers that need this polyfill lack much else that the page needs.
    modulePreload: { polyfill: false },
    // The first view's modules, in three files, since loading two dozen small ones would take a quarter of a second longer.
    rolldownOptions: { input: ["index.html", "diagram.html"], output: { advancedChunks: { groups: FIRST_VIEW } } },
  },
  server: {
    // The Host header is kept, so that the server's Origin check passes.
    proxy: { "/api": { target: DEVELOPMENT_SERVER, ws: true, changeOrigin: false } },
  },
  // Style sheets are read unchanged: a test examines their classes.
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"], css: true },
});
