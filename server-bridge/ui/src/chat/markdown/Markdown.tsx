import { type ComponentPropsWithoutRef, lazy, memo, Suspense, useContext, useMemo } from "react";
import { useTranslation } from "react-i18next";
import ReactMarkdown, { type Components, type Options } from "react-markdown";
import remarkGfm from "remark-gfm";
import { blocksOf, isOpenCode } from "./blocks";
import { openPanel } from "../../panels/open";
import { citationOf, wantCitation } from "../../lib/citation";
import { showSettings } from "../../lib/location";
import { CITED, citations, SaidAt } from "./citations";
import { CodeBlock, DrawnBlock } from "./CodeBlock";
import { headingLevels, outlinesOf } from "./headings";
import { pathOf, safeAddress } from "./links";
import { honestMath, mayHaveMath, withDollars } from "./math";
import { useHighlight, useMath } from "./latePlugin";
import "./markdown.css";

const Formula = lazy(() => import("./Formula"));

interface Props {
  text: string;
  /** When the text was begun. */
  saidAt?: number;
  /** The level of its outermost headings: one below the heading above the text. */
  topLevel?: number;
}

/** A model's text as Markdown. HTML in it is not rendered; while it grows, only its last block is parsed again. */
export function Markdown({ text, saidAt, topLevel = 2 }: Props) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  const outlines = useMemo(() => outlinesOf(blocks), [blocks]);
  return (
    <div className="markdown">
      <SaidAt value={saidAt}>
        {blocks.map((block, index) => (
          <Part key={block.at} text={block.text} topLevel={topLevel} outline={outlines[index]?.join("") ?? ""} />
        ))}
      </SaidAt>
    </div>
  );
}

/** One block. `outline` has a digit for the level of each heading above it: a string, which does not change while the text grows. */
const Part = memo(function Part({ text, topLevel, outline }: { text: string; topLevel: number; outline: string }) {
  const hasCode = text.includes("```") || text.includes("~~~");
  // Code that is still growing is plain: colouring it again for every word would be wasted work.
  const isGrowing = hasCode && isOpenCode(text);
  const highlight = useHighlight(hasCode && !isGrowing);
  const math = useMath(mayHaveMath(text));
  const levels = { top: topLevel, outline: Array.from(outline, Number) };
  const plugins: NonNullable<Options["remarkPlugins"]> = [...PLUGINS, [headingLevels, levels]];
  return (
    <ReactMarkdown
      remarkPlugins={math === null ? plugins : [...plugins, math, honestMath]}
      rehypePlugins={highlight === null ? NONE : [highlight]}
      urlTransform={safeAddress}
      components={isGrowing ? GROWING : COMPONENTS}
    >
      {math === null ? text : withDollars(text)}
    </ReactMarkdown>
  );
});

function Link({ href, children }: ComponentPropsWithoutRef<"a">) {
  const saidAt = useContext(SaidAt);
  if (!href) return <span>{children}</span>;
  const citation = href.startsWith(CITED) ? citationOf(href) : null;
  if (citation !== null) {
    const open = () => {
      wantCitation({ ...citation, saidAt });
      showSettings("knowledge");
    };
    return (
      <button type="button" className="file-link" onClick={open}>
        {children}
      </button>
    );
  }
  const path = pathOf(href);
  if (path !== null) {
    return (
      <button type="button" className="file-link" onClick={() => openPanel("files", { path })}>
        {children}
      </button>
    );
  }
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

// Loading an image would reveal the reader to its host, so its address is offered as a link instead.
function Image({ src, alt }: ComponentPropsWithoutRef<"img">) {
  const { t } = useTranslation("chat");
  return <Link href={typeof src === "string" ? src : ""}>{t("foreignImage", { name: alt || src || "" })}</Link>;
}

// The only form field in Markdown: the check box of a list item.
function Check({ checked }: ComponentPropsWithoutRef<"input">) {
  const { t } = useTranslation("chat");
  return <input type="checkbox" checked={checked === true} disabled aria-label={t(checked ? "todos.completed" : "todos.pending")} />;
}

/** Code within a line, or a formula. */
function Code({ className, children }: ComponentPropsWithoutRef<"code">) {
  const kind = /\bmath-(inline|display)\b/.exec(className ?? "")?.[1];
  if (kind === undefined || typeof children !== "string") return <code className={className}>{children}</code>;
  const source =
    kind === "display" ? (
      <pre>
        <code>{`$$\n${children.trimEnd()}\n$$`}</code>
      </pre>
    ) : (
      <code>{`$${children}$`}</code>
    );
  return (
    <Suspense fallback={source}>
      <Formula tex={children} display={kind === "display"} source={source} />
    </Suspense>
  );
}

function Table({ children }: ComponentPropsWithoutRef<"table">) {
  return (
    <div className="table" tabIndex={0} role="group">
      <table>{children}</table>
    </div>
  );
}

const PLUGINS = [remarkGfm, citations];
const NONE: [] = [];
const GROWING: Components = { a: Link, img: Image, table: Table, pre: CodeBlock, code: Code, input: Check };
const COMPONENTS: Components = { ...GROWING, pre: DrawnBlock };
