import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { ANNOUNCED_CHARS } from "../limits";
import { isOpen } from "../state/messages";
import type { Message } from "../types";
import { execSummary } from "./cards/execSummary";
import { nameOf } from "./cards/toolLook";

/** Announces new messages to a screen reader, once each, as one sentence; the full text is in the list. */
export function Announcer({ messages }: { messages: Message[] }) {
  const { t } = useTranslation("chat");
  const place = useRef<HTMLParagraphElement>(null);
  // Messages that were unfinished at the last render, and questions already asked; only later changes are announced.
  const open = useRef(new Set<number>());
  const asked = useRef(new Set<number>());
  useEffect(() => {
    const say = (text: string) => {
      if (place.current !== null) place.current.textContent = text;
    };
    for (const message of messages) {
      const { id, agent, exec } = message;
      if (isOpen(message)) {
        open.current.add(id);
        if (agent?.kind !== "tool" || agent.status !== "asking" || asked.current.has(id)) continue;
        asked.current.add(id);
        if (agent.data?.kind === "question") say(t("said.question", { text: agent.detail ?? agent.hint }));
        else say(t("said.asks", { tool: nameOf(agent.tool, t) }));
      } else if (open.current.delete(id)) {
        if (exec !== null) say(t("said.ended", { outcome: execSummary(exec, t).text }));
        else if (agent?.kind === "reply" && agent.error !== undefined) say(t("said.failed", { error: agent.error }));
        else if (agent?.kind === "reply" && message.text !== "") say(t("said.answered", { text: message.text.slice(0, ANNOUNCED_CHARS) }));
      }
    }
  }, [messages, t]);
  return <p ref={place} className="unseen" role="status" />;
}
