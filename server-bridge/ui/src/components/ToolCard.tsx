import type { LiveOutput } from "../state/output";
import type { Agent } from "../types";
import { OutputView } from "./OutputView";

interface Props {
  text: string;
  tool: Extract<Agent, { kind: "tool" }>;
  live: LiveOutput | undefined;
}

const TONE = { running: "running", done: "ok", failed: "bad", cancelled: "bad" } as const;

/** One tool that the model called: which, what about, and what it came to. */
export function ToolCard({ text, tool, live }: Props) {
  return (
    <details className={`exec-card tool ${TONE[tool.status]}`} open={tool.status === "running"}>
      <summary data-testid="tool">
        <strong>{tool.tool}</strong> <code>{tool.hint.split("\n")[0]}</code>
        <span className="status">{tool.status === "done" ? (tool.place ?? "") : tool.status}</span>
      </summary>
      <OutputView text={text} live={live} />
    </details>
  );
}
