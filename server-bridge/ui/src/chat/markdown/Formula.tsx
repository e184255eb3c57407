/** A formula typeset by KaTeX; this file and KaTeX are loaded with the first formula. */
import "katex/dist/katex.min.css";
import katex from "katex";
import { createElement, type CSSProperties, type ReactNode, useMemo } from "react";
import { FORMULA_MAX_EM, FORMULA_MAX_EXPANSIONS } from "../../limits";

interface Props {
  tex: string;
  display: boolean;
  /** Shown instead if the text is not a valid formula. */
  source: ReactNode;
}

export default function Formula({ tex, display, source }: Props) {
  const shown = useMemo(() => set(tex, display), [tex, display]);
  if (shown === null) return source;
  return display ? (
    <div className="formula" tabIndex={0} role="group">
      {shown}
    </div>
  ) : (
    shown
  );
}

/** Typesets a formula, which cannot contain links, load anything, or define macros for later formulas. */
function set(tex: string, displayMode: boolean): ReactNode {
  try {
    const options = { displayMode, throwOnError: true, strict: "ignore", trust: false, maxSize: FORMULA_MAX_EM, maxExpand: FORMULA_MAX_EXPANSIONS } as const;
    const html = katex.renderToString(tex, options);
    const read = new DOMParser().parseFromString(withoutStyles(html), "text/html");
    return Array.from(read.body.childNodes, (node, at) => element(node, at));
  } catch {
    return null;
  }
}

/** Renames style attributes, because the page's content security policy refuses them even while parsing. */
function withoutStyles(html: string): string {
  return html.replace(/ style="/g, ' data-style="');
}

function element(node: ChildNode, key: number): ReactNode {
  if (!(node instanceof Element)) return node.textContent;
  const attributes: Record<string, unknown> = { key };
  for (const { name, value } of Array.from(node.attributes)) {
    if (name === "data-style") attributes.style = styleOf(value);
    else if (name === "class") attributes.className = value;
    else attributes[name === "viewbox" ? "viewBox" : name === "preserveaspectratio" ? "preserveAspectRatio" : name] = value;
  }
  return createElement(node.localName, attributes, ...Array.from(node.childNodes, element));
}

function styleOf(declarations: string): CSSProperties {
  const pairs = declarations.split(";").flatMap((declaration): [string, string][] => {
    const at = declaration.indexOf(":");
    if (at === -1) return [];
    const name = declaration.slice(0, at).trim().replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return [[name, declaration.slice(at + 1).trim()]];
  });
  return Object.fromEntries(pairs);
}
