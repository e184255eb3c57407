import { type ComponentPropsWithoutRef, isValidElement, type ReactNode, useRef } from "react";
import { useTranslation } from "react-i18next";
import { CopyText } from "../CopyText";
import { Diagram } from "./Diagram";

/** A `CodeBlock` with the diagram drawn above its source. */
export function DrawnBlock(props: ComponentPropsWithoutRef<"pre">) {
  const source = languageOf(props.children) === "mermaid" ? textOf(props.children) : null;
  return (
    <>
      {source !== null && <Diagram source={source} />}
      <CodeBlock {...props} />
    </>
  );
}

/** Code with its language and a copy button. */
export function CodeBlock({ children }: ComponentPropsWithoutRef<"pre">) {
  const { t } = useTranslation("chat");
  const code = useRef<HTMLPreElement>(null);
  const language = languageOf(children);
  // A display formula is not code, although Markdown's tree treats it as code.
  if (language === "math") return children;
  return (
    <div className="code">
      <header>
        <span>{language}</span>
        <CopyText name={t("copyCode")} text={() => code.current?.textContent ?? ""} />
      </header>
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
    </div>
  );
}

function languageOf(code: ReactNode): string {
  const names = isValidElement<{ className?: string }>(code) ? (code.props.className ?? "") : "";
  return /language-([\w+#.-]+)/.exec(names)?.[1] ?? "";
}

function textOf(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (isValidElement<{ children?: ReactNode }>(node)) return textOf(node.props.children);
  return typeof node === "string" ? node : "";
}
