import { Plus, Users } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { classes } from "../lib/classes";
import { groupInAddress, showGroup } from "../lib/location";
import { useAction } from "../lib/useAction";
import { useAddress } from "../lib/useAddress";
import { useGroupRequests } from "./requests";
import { useGroupList } from "./useGroups";
import styles from "./groups.module.css";

/** The groups that the user is in, above the list of chats, and a field for a new one. */
export function GroupList({ onOpened }: { onOpened: () => void }) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const groups = useGroupList(requests.groups);
  const open = groupInAddress(useAddress())?.id ?? null;
  const [title, setTitle] = useState<string | null>(null);
  const go = (id: number, part: "log" | "members" = "log") => {
    showGroup(id, part);
    onOpened();
  };
  const create = useAction(async () => {
    const made = await requests.create((title ?? "").trim());
    setTitle(null);
    await groups.reload();
    // A new group has no agents yet; they are added under Members.
    go(made.id, "members");
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if ((title ?? "").trim() !== "") void create.run();
  };
  return (
    <section className={styles.list} aria-labelledby="groups">
      <header>
        <h2 id="groups">{t("title")}</h2>
        <button type="button" className="quiet icon" aria-label={t("new")} title={t("new")} aria-expanded={title !== null} onClick={() => setTitle(title === null ? "" : null)}>
          <Plus aria-hidden="true" />
        </button>
      </header>
      {title !== null && (
        <form onSubmit={submit}>
          <input
            aria-label={t("name")}
            placeholder={t("name")}
            value={title}
            autoFocus
            onChange={(event) => setTitle(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.stopPropagation();
              setTitle(null);
            }}
          />
          <button type="submit" disabled={create.busy || title.trim() === ""}>
            {t("create")}
          </button>
        </form>
      )}
      {(create.error ?? groups.error) !== null && (
        <p className="problem" role="alert">
          {create.error ?? groups.error}
        </p>
      )}
      <ul>
        {(groups.value ?? []).map((group) => (
          <li key={group.id} data-testid="group">
            <button type="button" className={classes("quiet", styles.row)} aria-current={group.id === open ? "page" : undefined} onClick={() => go(group.id)}>
              <Users aria-hidden="true" />
              <span>{group.title}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
