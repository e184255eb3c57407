/** Citations of documents in a model's text become links that open the cited passage. */
import type { Nodes, PhrasingContent } from "mdast";
import { cited } from "../../lib/citation";

/** Put before a citation; one that a model writes itself opens a document of the user's all the same. */
export const CITED = "sandbridge-citation:";

/** A plugin for Markdown's tree. */
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
