import { type ComponentPropsWithoutRef, isValidElement, useRef } from "react";
import { useTranslation } from "react-i18next";
import { CopyText } from "../CopyText";

/** Code with its language and a way to copy it. */
export function CodeBlock({ children }: ComponentPropsWithoutRef<"pre">) {
  const { t } = useTranslation("chat");
  const code = useRef<HTMLPreElement>(null);
  const names = isValidElement<{ className?: string }>(children) ? (children.props.className ?? "") : "";
  const language = /language-([\w+#.-]+)/.exec(names)?.[1] ?? "";
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
