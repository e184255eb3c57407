/** Colours for source text; loaded when the first file is shown. The result is text in elements, never HTML. */
import { type ReactNode, createElement } from "react";
import rehypeHighlight from "rehype-highlight";
import { extensionOf } from "./text";

interface Node {
  type: string;
  value?: string;
  tagName?: string;
  properties?: { className?: string[] };
  children?: Node[];
}

const BY_EXTENSION: Record<string, string> = {
  bash: "bash", c: "c", cc: "cpp", cpp: "cpp", cs: "csharp", css: "css", cjs: "javascript", diff: "diff", go: "go", h: "c",
  hpp: "cpp", html: "xml", ini: "ini", java: "java", js: "javascript", json: "json", jsx: "javascript", kt: "kotlin", less: "less",
  lua: "lua", m: "objectivec", md: "markdown", mjs: "javascript", patch: "diff", php: "php", pl: "perl", py: "python", r: "r",
  rb: "ruby", rs: "rust", scss: "scss", sh: "bash", sql: "sql", svg: "xml", swift: "swift", toml: "ini", ts: "typescript",
  tsx: "typescript", xml: "xml", yaml: "yaml", yml: "yaml", zsh: "bash",
};

const BY_NAME: Record<string, string> = { makefile: "makefile", "cargo.lock": "ini", ".bashrc": "bash", ".profile": "bash" };

/** The language of a file, by its name; null if unknown. */
export function languageOf(name: string): string | null {
  return BY_NAME[name.toLowerCase()] ?? BY_EXTENSION[extensionOf(name)] ?? null;
}

/** The text, coloured. */
export function highlighted(text: string, language: string): ReactNode {
  const code: Node = {
    type: "element",
    tagName: "code",
    properties: { className: [`language-${language}`] },
    children: [{ type: "text", value: text }],
  };
  const tree: Node = { type: "root", children: [{ type: "element", tagName: "pre", properties: {}, children: [code] }] };
  type Transform = (tree: unknown, file: unknown) => void;
  (rehypeHighlight() as unknown as Transform)(tree, { message: () => undefined });
  return shown(code.children ?? []);
}

function shown(nodes: Node[]): ReactNode[] {
  return nodes.map((node, index) =>
    node.type === "text"
      ? (node.value ?? "")
      : createElement("span", { key: index, className: node.properties?.className?.join(" ") }, ...shown(node.children ?? [])),
  );
}
