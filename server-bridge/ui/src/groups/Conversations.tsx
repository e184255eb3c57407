import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import { useAction } from "../lib/useAction";
import { useTimeWords } from "../lib/useTimeWords";
import { Problem, Ready } from "../settings/parts";
import { useGroupRequests } from "./requests";
import type { Group } from "./types";
import { useOfGroup } from "./useGroups";
import styles from "./groups.module.css";

/** The conversations on messengers that show the log of a group. Owners of the group can end each, as can the person who bound it. */
export function Conversations({ group }: { group: Group }) {
  const { t } = useTranslation("groups");
  const { absolute } = useTimeWords();
  const requests = useGroupRequests();
  const loaded = useOfGroup(group.id, "conversations", () => requests.conversations(group.id));
  const end = useAction(async (id: string) => {
    try {
      await requests.endConversation(group.id, id);
    } finally {
      await loaded.reload();
    }
  });
  return (
    <section aria-labelledby="conversations">
      <h2 id="conversations">{t("conversations")}</h2>
      <p className="hint">{t("conversationsAbout")}</p>
      <Problem text={end.error} />
      <Ready loaded={loaded}>
        {(all) => (
          <ul className={styles.rows}>
            {all.length === 0 && <li className="hint">{t("noConversations")}</li>}
            {all.map(({ id, messenger, channel, conversation, bound_by: name, since, may_end: mayEnd }) => (
              <li key={id} data-testid="conversation">
                <strong>{messenger}</strong> <span>{t("conversationOf", { conversation, channel })}</span>{" "}
                <span className="hint">{t("boundBy", { name, when: absolute(since) })}</span>
                {mayEnd && (
                  <ConfirmButton
                    label={t("endConversation")}
                    name={t("endConversationName", { messenger, conversation })}
                    question={t("endConversationQuestion", { messenger, conversation })}
                    confirmLabel={t("endConversation")}
                    onConfirm={() => void end.run(id)}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
      </Ready>
    </section>
  );
}
