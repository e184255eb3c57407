/** Turns citations of documents in a model's text into links that open the cited passage. */
import type { Nodes, PhrasingContent } from "mdast";
import { createContext } from "react";
import { cited } from "../../lib/citation";

/** The prefix of a link to a citation. A model may write such a link itself: it can only open documents that the user may read. */
export const CITED = "sandbridge-citation:";

/** When the text was begun, in Unix milliseconds: what it cites may have changed since. */
export const SaidAt = createContext<number | undefined>(undefined);

/** The remark plugin that replaces citations in the Markdown tree. */
export function citations() {
  return (tree: Nodes) => replaceIn(tree);
}

function replaceIn(node: Nodes): void {
  if (!("children" in node) || node.type === "link") return;
  const children: PhrasingContent[] = [];
  let isChanged = false;
  for (const child of node.children) {
    replaceIn(child);
    const parts = child.type === "text" ? cited(child.value) : [];
    if (!parts.some((part) => part.isCitation)) {
      children.push(child as PhrasingContent);
      continue;
    }
    isChanged = true;
    for (const { text, isCitation } of parts) {
      const value: PhrasingContent = { type: "text", value: text };
      children.push(isCitation ? { type: "link", url: CITED + text, children: [value] } : value);
    }
  }
  if (isChanged) node.children = children as typeof node.children;
}
