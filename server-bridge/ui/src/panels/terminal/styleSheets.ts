/**
 * Styles for xterm under a content security policy without inline styles. The policy refuses `<style>` elements and `style`
 * attributes that a page makes; the same rules are allowed in constructed style sheets and through an element's style object.
 * `xterm.plugin.ts` inserts calls of these functions where xterm would do the former.
 */

/** An element that represents a style sheet: its text becomes the sheet's rules, and removing it removes the sheet. */
export function sheetElement(): HTMLElement {
  const element = document.createElement("template");
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, "textContent", { set: (rules: string) => sheet.replaceSync(rules) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((adopted) => adopted !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}

/** Adds declarations to an element's style. */
export function addStyle(element: HTMLElement, declarations: string): void {
  element.style.cssText += `;${declarations}`;
}
