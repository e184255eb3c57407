import { memo, useMemo } from "react";
import { plainText } from "../lib/terminal";
import { useStickToEnd } from "../lib/useStickToEnd";
import type { LiveOutput, Segment } from "../state/output";

interface Props {
  /** The stored output, shown where nothing better is known. */
  text: string;
  live: LiveOutput | undefined;
}

/** A command's output: the live buffer, which tells the channels apart, or the stored text. */
export function OutputView({ text, live }: Props) {
  const stored = useMemo(() => plainText(text), [text]);
  const view = useStickToEnd<HTMLPreElement>(live?.received_chars);
  if (live === undefined) {
    if (stored === "") return null;
    return (
      <pre className="output" tabIndex={0} aria-label="Output">
        {stored}
      </pre>
    );
  }
  return (
    <pre className="output" ref={view.ref} onScroll={view.onScroll} tabIndex={0} aria-label="Output">
      {live.dropped && <span className="gap">{"… earlier output not shown\n"}</span>}
      {live.segments.map((segment) => (
        <Run key={segment.id} segment={segment} />
      ))}
    </pre>
  );
}

const Run = memo(function Run({ segment }: { segment: Segment }) {
  if (segment.channel === "gap") return <span className="gap">{"\n… the connection was lost: output may be missing here\n"}</span>;
  return <span className={segment.channel}>{segment.text}</span>;
});
