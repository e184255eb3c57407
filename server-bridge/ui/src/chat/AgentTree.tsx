import { Bot, ChevronRight } from "lucide-react";
import { Popover } from "radix-ui";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLoaded } from "../lib/useLoaded";
import { useActions } from "../state/context";
import type { AgentOfChat } from "../types";
import styles from "./chat.module.css";
import marks from "../kit/marks.module.css";
import menus from "../kit/Menu.module.css";

/** The sub-agents of a chat with their own sub-agents, and links to their chats. */
export function AgentTree({ chatId, turn }: { chatId: string; turn: string }) {
  const { t } = useTranslation("chat");
  const agents = useAgents(chatId, turn);
  const [open, setOpen] = useState(false);
  if (agents.length === 0) return null;
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <button type="button" className="quiet">
          <Bot aria-hidden="true" /> {t("agent.treeCount", { count: agents.length })}
        </button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className={`${menus.menu} ${styles.agents}`} align="end" sideOffset={4} collisionPadding={8} aria-label={t("agent.tree")}>
          <Branch agents={agents} from={chatId} onOpen={() => setOpen(false)} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

const NONE: AgentOfChat[] = [];

function useAgents(chatId: string, turn: string): AgentOfChat[] {
  const actions = useActions();
  const { value } = useLoaded(["sub-agents", chatId], () => actions.agents(chatId), turn);
  return value ?? NONE;
}

interface BranchProps {
  agents: AgentOfChat[];
  from: string;
  onOpen: () => void;
}

function Branch({ agents, from, onOpen }: BranchProps) {
  return (
    <ul>
      {agents.map((agent) => (
        <Leaf key={agent.chat_id} agent={agent} from={from} onOpen={onOpen} />
      ))}
    </ul>
  );
}

function Leaf({ agent, from, onOpen }: { agent: AgentOfChat; from: string; onOpen: () => void }) {
  const { t } = useTranslation("chat");
  const { enterChat } = useActions();
  const children = useAgents(agent.chat_id, agent.status ?? "");
  const [open, setOpen] = useState(false);
  const name = [agent.role, agent.instance].filter(Boolean).join(" ") || t("agent.unnamed");
  return (
    <li>
      <div className={styles.agent}>
        {children.length > 0 && (
          <button type="button" className="quiet icon small" aria-expanded={open} aria-label={t("agent.show", { name })} onClick={() => setOpen(!open)}>
            <ChevronRight className={marks.chevron} aria-hidden="true" />
          </button>
        )}
        <button
          type="button"
          className="quiet"
          onClick={() => {
            enterChat(agent.chat_id, from);
            onOpen();
          }}
        >
          <strong>{name}</strong> <span>{agent.title}</span>
          {agent.status !== null && agent.status !== "done" && <span className="hint">{t(`turn.${agent.status}`)}</span>}
        </button>
      </div>
      {open && <Branch agents={children} from={agent.chat_id} onOpen={onOpen} />}
    </li>
  );
}
