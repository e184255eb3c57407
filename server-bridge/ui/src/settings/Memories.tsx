import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useAppState } from "../state/context";
import { AddMemory, ForgetAbout } from "./MemoryForms";
import { MemoryCard } from "./MemoryCard";
import { Choices, Field, Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import { MEMORY_MODES, type Memory, type MemorySettings } from "./types";

/** The memories of the user, or of one of the user's agents in a group: the mode, the proposals, and all kept memories. */
export default function Memories() {
  const requests = useRequests();
  const [agent, setAgent] = useState<number | null>(null);
  const loaded = useLoaded(["memories", agent], () => requests.memories(agent));
  const proposals = useLoaded(["memory-proposals"], requests.proposedMemories);
  const changed = async () => void (await Promise.all([loaded.reload(), proposals.reload()]));
  return (
    <>
      <Mode />
      <Ready loaded={proposals}>{(waiting) => <Proposals proposals={waiting} onChanged={changed} />}</Ready>
      <Whose agent={agent} onChoose={setAgent} />
      <Ready loaded={loaded}>
        {(memories) => <Kept key={agent} agent={agent} memories={memories.filter((memory) => !memory.proposed)} onChanged={changed} />}
      </Ready>
    </>
  );
}

/** Chooses whose memories are shown, for a user who has agents in groups. */
function Whose({ agent, onChoose }: { agent: number | null; onChoose: (agent: number | null) => void }) {
  const { t } = useTranslation("settings");
  const { me } = useAppState("me");
  const requests = useRequests();
  const { value } = useLoaded(["memory-groups"], requests.groups);
  const own = (value ?? []).flatMap((group) =>
    group.agents.filter((one) => one.owner === me?.name).map((one) => ({ id: one.id, label: t("memory.ofAgent", { handle: one.handle, group: group.title }) })),
  );
  if (own.length === 0) return null;
  return (
    <Field label={t("memory.whose")} hint={t("memory.whoseHint")}>
      {(id, hint) => (
        <select id={id} aria-describedby={hint} value={agent ?? ""} onChange={(event) => onChoose(event.target.value === "" ? null : Number(event.target.value))}>
          <option value="">{t("memory.yours")}</option>
          {own.map((one) => (
            <option key={one.id} value={one.id}>
              {one.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Mode() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["memory-settings"], requests.memorySettings);
  const change = useAction(async (wanted: MemorySettings) => {
    await requests.setMemorySettings(wanted);
    await loaded.reload();
  });
  return (
    <Ready loaded={loaded}>
      {(settings) => (
        <>
          <Choices
            legend={t("memory.mode")}
            name="memory-mode"
            value={MEMORY_MODES.find((mode) => mode === settings.mode) ?? null}
            choices={MEMORY_MODES.map((value) => ({ value, label: t(`memory.modes.${value}`), hint: t(`memory.modeHints.${value}`) }))}
            onChoose={(mode) => void change.run({ ...settings, mode })}
          />
          <Choices
            legend={t("memory.fromChats")}
            name="memory-from-chats"
            value={settings.from_chats ? "on" : "off"}
            choices={[
              { value: "off", label: t("memory.off") },
              { value: "on", label: t("memory.on"), hint: t("memory.fromChatsHint") },
            ]}
            onChoose={(value) => void change.run({ ...settings, from_chats: value === "on" })}
          />
          <Problem text={change.error} />
        </>
      )}
    </Ready>
  );
}

interface ListProps {
  onChanged: () => Promise<void>;
}

function Proposals({ proposals, onChanged }: ListProps & { proposals: Memory[] }) {
  const { t } = useTranslation("settings");
  if (proposals.length === 0) return null;
  return (
    <section aria-labelledby="memory-proposals">
      <h4 id="memory-proposals">{t("memory.proposals")}</h4>
      <p className="hint">{t("memory.aboutProposals")}</p>
      <ul className={styles.cards}>
        {proposals.map((memory) => (
          <MemoryCard key={memory.id} memory={memory} onChanged={onChanged} />
        ))}
      </ul>
    </section>
  );
}

function Kept({ agent, memories, onChanged }: ListProps & { agent: number | null; memories: Memory[] }) {
  const { t } = useTranslation("settings");
  return (
    <section aria-labelledby="memory-kept">
      <h4 id="memory-kept">{t("memory.kept")}</h4>
      <AddMemory agent={agent} onAdded={onChanged} />
      {memories.length === 0 && <p className={styles.nothing}>{agent === null ? t("memory.none") : t("memory.noneOfAgent")}</p>}
      <ul className={styles.cards}>
        {memories.map((memory) => (
          <MemoryCard key={memory.id} memory={memory} onChanged={onChanged} />
        ))}
      </ul>
      {memories.length > 0 && (
        <>
          <p>
            <a href={exported(memories)} download="memories.json">
              {t("memory.export")}
            </a>
          </p>
          <ForgetAbout agent={agent} onForgotten={onChanged} />
        </>
      )}
    </section>
  );
}

/** The URL of a file with the memories. */
function exported(memories: Memory[]): string {
  return `data:application/json;charset=utf-8,${encodeURIComponent(JSON.stringify(memories, null, 2))}`;
}
