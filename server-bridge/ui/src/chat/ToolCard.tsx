import { type FormEvent, useState } from "react";
import { useAction } from "../lib/useAction";
import { useActions } from "../state/context";
import type { LiveOutput } from "../state/output";
import type { Agent, Message, SubAgent } from "../types";
import { OutputView } from "./OutputView";
import { TodoList } from "./TodoList";

interface Props {
  message: Message;
  tool: Extract<Agent, { kind: "tool" }>;
  live: LiveOutput | undefined;
}

/** As many characters as an answer may have; the server counts bytes. */
const ANSWER_CHARS = 16_000;

const TONE = { asking: "running", running: "running", done: "ok", failed: "bad", denied: "bad", cancelled: "bad" } as const;

/** One tool that the model called: which, what about, and what it came to; or the question whether it may. */
export function ToolCard({ message, tool, live }: Props) {
  const isOpen = tool.status === "asking" || tool.status === "running";
  return (
    <details className={`exec-card tool ${TONE[tool.status]}`} open={isOpen}>
      <summary data-testid="tool">
        <strong>{tool.tool}</strong> <code>{tool.hint.split("\n")[0]}</code>
        <span className="status">{tool.status === "done" ? (tool.place ?? "") : tool.status}</span>
      </summary>
      {tool.sub_agent && <Progress agent={tool.sub_agent} />}
      <Body message={message} tool={tool} live={live} />
    </details>
  );
}

/** What a sub-agent does, and the way to all of it. */
function Progress({ agent }: { agent: SubAgent }) {
  const { openChat } = useActions();
  const name = [agent.role, agent.instance].filter(Boolean).join(" ");
  return (
    <p className="sub-agent" data-testid="sub-agent">
      {name !== "" && <strong>{name} </strong>}
      <span>
        {agent.steps} {agent.steps === 1 ? "step" : "steps"}
        {agent.doing ? ", " : ""}
      </span>
      {agent.doing && <code>{agent.doing}</code>}{" "}
      <button type="button" onClick={() => openChat(agent.chat_id)}>
        Open its chat
      </button>
    </p>
  );
}

function Body({ message, tool, live }: Props) {
  const { data, status } = tool;
  if (status === "asking" && data?.kind === "question") {
    return <Question message={message} question={tool.detail ?? tool.hint} options={data.options} />;
  }
  if (status === "asking") return <Approval message={message} tool={tool} />;
  if (data?.kind === "todos" && data.items.length > 0) return <TodoList items={data.items} />;
  return <OutputView text={message.text} live={live} />;
}

function Approval({ message, tool }: Pick<Props, "message" | "tool">) {
  const actions = useActions();
  const answer = useAction(actions.approve);
  const say = (allow: boolean, always: boolean) => void answer.run(message.chat_id, message.id, allow, always);
  return (
    <div className="approval" role="group" aria-label={`Allow ${tool.tool}?`}>
      <pre className="output">{tool.detail ?? tool.hint}</pre>
      <button type="button" disabled={answer.busy} onClick={() => say(true, false)}>
        Allow
      </button>
      {tool.data?.kind !== "once" && (
        <button type="button" disabled={answer.busy} onClick={() => say(true, true)}>
          Always in this chat
        </button>
      )}
      <button type="button" disabled={answer.busy} onClick={() => say(false, false)}>
        Deny
      </button>
      {answer.error !== null && (
        <span className="problem" role="alert">
          {answer.error}
        </span>
      )}
    </div>
  );
}

interface QuestionProps {
  message: Message;
  question: string;
  options: string[];
}

function Question({ message, question, options }: QuestionProps) {
  const actions = useActions();
  const answer = useAction(actions.answer);
  const [words, setWords] = useState("");
  const say = (text: string | null) => void answer.run(message.chat_id, message.id, text);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (words.trim() !== "") say(words);
  };
  return (
    <form className="approval" aria-label="Answer the question" onSubmit={submit}>
      <pre className="output">{question}</pre>
      {options.map((option, at) => (
        <button key={at} type="button" disabled={answer.busy} onClick={() => say(option)}>
          {option}
        </button>
      ))}
      <input
        aria-label="Your answer"
        placeholder="In your own words"
        maxLength={ANSWER_CHARS}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <button type="submit" disabled={answer.busy || words.trim() === ""}>
        Answer
      </button>
      <button type="button" disabled={answer.busy} onClick={() => say(null)}>
        No answer
      </button>
      {answer.error !== null && (
        <span className="problem" role="alert">
          {answer.error}
        </span>
      )}
    </form>
  );
}
