import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { AddMemory, ForgetAbout } from "./MemoryForms";
import { MemoryCard } from "./MemoryCard";
import { Choices, Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import { MEMORY_MODES, type Memory, type MemorySettings } from "./types";

/** What agents remember: how they do, what they propose, and all that is kept. */
export default function Memories() {
  const requests = useRequests();
  const loaded = useLoaded(["memories"], requests.memories);
  return (
    <>
      <Mode />
      <Ready loaded={loaded}>
        {(memories) => (
          <>
            <Proposals proposals={memories.filter((memory) => memory.proposed)} onChanged={loaded.reload} />
            <Kept memories={memories.filter((memory) => !memory.proposed)} onChanged={loaded.reload} />
          </>
        )}
      </Ready>
    </>
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

function Kept({ memories, onChanged }: ListProps & { memories: Memory[] }) {
  const { t } = useTranslation("settings");
  return (
    <section aria-labelledby="memory-kept">
      <h4 id="memory-kept">{t("memory.kept")}</h4>
      <AddMemory onAdded={onChanged} />
      {memories.length === 0 && <p className={styles.nothing}>{t("memory.none")}</p>}
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
          <ForgetAbout onForgotten={onChanged} />
        </>
      )}
    </section>
  );
}

/** The memories as the address of a file. */
function exported(memories: Memory[]): string {
  return `data:application/json;charset=utf-8,${encodeURIComponent(JSON.stringify(memories, null, 2))}`;
}
