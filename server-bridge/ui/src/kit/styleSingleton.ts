/**
 * Replaces the package `react-style-singleton`, with which Radix stops the page below a dialog from scrolling: that package
 * makes `<style>` elements, which the content security policy refuses. Constructed style sheets are allowed.
 */
import { useEffect, useState } from "react";

interface Sheet {
  add: (rules: string) => void;
  remove: () => void;
}

/** A style sheet that exists while at least one user added it; later users share the rules of the first. */
export function stylesheetSingleton(): Sheet {
  let users = 0;
  const sheet = new CSSStyleSheet();
  return {
    add: (rules) => {
      users += 1;
      if (users > 1) return;
      sheet.replaceSync(rules);
      document.adoptedStyleSheets.push(sheet);
    },
    remove: () => {
      users -= 1;
      if (users === 0) document.adoptedStyleSheets = document.adoptedStyleSheets.filter((adopted) => adopted !== sheet);
    },
  };
}

export function styleHookSingleton(): (rules: string, isDynamic?: boolean) => void {
  const sheet = stylesheetSingleton();
  return (rules, isDynamic = false) => {
    const [first] = useState(rules);
    const wanted = isDynamic ? rules : first;
    useEffect(() => {
      sheet.add(wanted);
      return sheet.remove;
    }, [wanted]);
  };
}

export function styleSingleton(): (props: { styles: string; dynamic?: boolean }) => null {
  const useStyle = styleHookSingleton();
  return function Style({ styles, dynamic }) {
    useStyle(styles, dynamic);
    return null;
  };
}
