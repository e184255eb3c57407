import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";

export default function Memories() {
  const { t } = useTranslation("settings");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const requests = useRequests();
  const loaded = useLoaded(["memories"], requests.memories);
  const forget = useAction(async (name: string) => {
    await requests.forget(name);
    await loaded.reload();
  });
  return (
    <Ready loaded={loaded}>
      {(memories) => (
        <>
          {memories.length === 0 && <p className={styles.nothing}>{t("memory.none")}</p>}
          <ul className={styles.cards}>
            {memories.map((memory) => (
              <li key={memory.name} className={styles.card}>
                <header>
                  <h4>{memory.name}</h4>
                  <span className="hint" title={absolute(memory.updated_at)}>
                    {relative(memory.updated_at, now)}
                  </span>
                </header>
                <p className={styles.asWritten}>{memory.text}</p>
                <ConfirmButton
                  label={t("memory.forget")}
                  name={t("memory.forgetName", { name: memory.name })}
                  question={t("memory.question", { name: memory.name })}
                  confirmLabel={t("memory.forget")}
                  onConfirm={() => void forget.run(memory.name)}
                />
              </li>
            ))}
          </ul>
          <Problem text={forget.error} />
        </>
      )}
    </Ready>
  );
}
