import { memo, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { colouredText } from "../../lib/terminal";
import { useStickToEnd } from "../../lib/useStickToEnd";
import type { LiveOutput, Segment } from "../../state/output";
import { Coloured } from "./Coloured";
import styles from "./cards.module.css";

interface Props {
  /** The stored output, shown if there is no live output. */
  text: string;
  live: LiveOutput | undefined;
  /** The number of lines of the stored output that are shown at first. */
  lines?: number;
}

/** A command's output: the live buffer, which separates stdout from stderr, or the stored text. */
export function OutputView({ text, live, lines }: Props) {
  return live === undefined ? <Stored text={text} lines={lines} /> : <Live live={live} />;
}

function Stored({ text, lines }: { text: string; lines: number | undefined }) {
  const { t } = useTranslation("chat");
  const [whole, setWhole] = useState(false);
  const all = useMemo(() => colouredText(text), [text]);
  const split = useMemo(() => all.trimEnd().split("\n"), [all]);
  if (all === "") return null;
  const isLong = lines !== undefined && split.length > lines + 1;
  return (
    <>
      <pre className={styles.output} role="group" tabIndex={0} aria-label={t("output")}>
        <Coloured text={isLong && !whole ? split.slice(0, lines).join("\n") : all} />
      </pre>
      {isLong && (
        <button type="button" className={`quiet ${styles.more}`} onClick={() => setWhole(!whole)}>
          {whole ? t("tool.showLess") : t("tool.showMore", { count: split.length })}
        </button>
      )}
    </>
  );
}

function Live({ live }: { live: LiveOutput }) {
  const { t } = useTranslation("chat");
  const [view, onScroll] = useStickToEnd<HTMLPreElement>(live);
  const blocks = useMemo(() => blocksOf(live.segments), [live.segments]);
  return (
    <pre className={styles.output} role="group" ref={view} onScroll={onScroll} tabIndex={0} aria-label={t("output")}>
      {live.dropped && <span className={styles.gap}>{`${t("earlierNotShown")}\n`}</span>}
      {blocks.map((block) => (
        <Block key={block.id} runs={block.runs} last={block.runs.at(-1)} />
      ))}
    </pre>
  );
}

/** Groups runs into blocks that begin and end at a line boundary, since the browser lays out each block separately. */
function blocksOf(segments: Segment[]): { id: number; runs: Segment[] }[] {
  const blocks: { id: number; runs: Segment[] }[] = [];
  let isWhole = true;
  for (const segment of segments) {
    const last = blocks.at(-1);
    if (isWhole || last === undefined) blocks.push({ id: segment.id, runs: [segment] });
    else last.runs.push(segment);
    isWhole = segment.text.endsWith("\n");
  }
  return blocks;
}

interface BlockProps {
  runs: Segment[];
  /** The last segment, the only one that changes while output arrives. */
  last: Segment | undefined;
}

const Block = memo(
  function Block({ runs }: BlockProps) {
    return (
      <div>
        {runs.map((segment) => (
          <Run key={segment.id} segment={segment} />
        ))}
      </div>
    );
  },
  (before, after) => before.last === after.last && before.runs.length === after.runs.length,
);

const Run = memo(function Run({ segment }: { segment: Segment }) {
  const { t } = useTranslation("chat");
  if (segment.channel === "gap") return <span className={styles.gap}>{`\n${t("gap")}\n`}</span>;
  return (
    <span className={styles[segment.channel]}>
      <Coloured text={segment.text} style={segment.style} />
    </span>
  );
});
