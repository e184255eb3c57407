import { type ComponentPropsWithoutRef, memo, useMemo } from "react";
import { useTranslation } from "react-i18next";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { blocksOf, isOpenCode } from "./blocks";
import { CodeBlock } from "./CodeBlock";
import { safeAddress } from "./links";
import { useHighlight } from "./useHighlight";
import "./markdown.css";

/** Text of a model's as Markdown. Nothing in it is HTML; while it grows, only its last block is read anew. */
export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <div className="markdown">
      {blocks.map((block) => (
        <Part key={block.at} text={block.text} />
      ))}
    </div>
  );
}

const Part = memo(function Part({ text }: { text: string }) {
  const hasCode = text.includes("```") || text.includes("~~~");
  // Code that still grows is plain: colouring it anew at every word would be work for nothing.
  const highlight = useHighlight(hasCode && !isOpenCode(text));
  return (
    <ReactMarkdown
      remarkPlugins={PLUGINS}
      rehypePlugins={highlight === null ? NONE : [highlight]}
      urlTransform={safeAddress}
      components={COMPONENTS}
    >
      {text}
    </ReactMarkdown>
  );
});

function Link({ href, children }: ComponentPropsWithoutRef<"a">) {
  if (!href) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

// An image would tell its host who reads: its address is offered instead.
function Image({ src, alt }: ComponentPropsWithoutRef<"img">) {
  const { t } = useTranslation("chat");
  return <Link href={typeof src === "string" ? src : ""}>{t("foreignImage", { name: alt || src || "" })}</Link>;
}

// The only field in Markdown: an item of a list that is done, or is not.
function Check({ checked }: ComponentPropsWithoutRef<"input">) {
  const { t } = useTranslation("chat");
  return <input type="checkbox" checked={checked === true} disabled aria-label={t(checked ? "todos.completed" : "todos.pending")} />;
}

function Table({ children }: ComponentPropsWithoutRef<"table">) {
  return (
    <div className="table" tabIndex={0} role="group">
      <table>{children}</table>
    </div>
  );
}

const PLUGINS = [remarkGfm];
const NONE: [] = [];
const COMPONENTS: Components = { a: Link, img: Image, table: Table, pre: CodeBlock, input: Check };
