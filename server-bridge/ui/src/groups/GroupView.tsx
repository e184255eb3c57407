import { ArrowLeft } from "lucide-react";
import { useTranslation } from "react-i18next";
import { groupAddress, type GroupAddress, type GroupPart, leaveGroup, showGroup } from "../lib/location";
import { Ready } from "../settings/parts";
import { Chains } from "./Chains";
import { GroupLog } from "./GroupLog";
import { Members } from "./Members";
import { useGroupRequests } from "./requests";
import { RunPanel } from "./RunPanel";
import { useOfGroup } from "./useGroups";
import styles from "./groups.module.css";

const PARTS: GroupPart[] = ["log", "chains", "members"];

/** A group, shown in place of the open chat: its log, its chains and their runs, or its members. */
export default function GroupView({ address }: { address: GroupAddress }) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const { id, part, run } = address;
  const loaded = useOfGroup(id, "group", () => requests.group(id));
  return (
    <main className={styles.group}>
      <header className={styles.head}>
        <button type="button" className="quiet icon" aria-label={t("back")} title={t("back")} onClick={leaveGroup}>
          <ArrowLeft aria-hidden="true" />
        </button>
        <h1>{loaded.value?.title ?? t("group")}</h1>
        <nav aria-label={t("parts")}>
          {PARTS.map((name) => (
            <a
              key={name}
              href={groupAddress(id, name)}
              aria-current={name === part ? "page" : undefined}
              onClick={(event) => {
                event.preventDefault();
                showGroup(id, name);
              }}
            >
              {t(`part.${name}`)}
            </a>
          ))}
        </nav>
      </header>
      <Ready loaded={loaded}>
        {(group) => {
          if (part === "members") return <Members key={id} group={group} reload={loaded.reload} />;
          if (run !== null) return <RunPanel key={`${id} ${run}`} group={group} number={run} />;
          return part === "chains" ? <Chains key={id} group={group} /> : <GroupLog key={id} group={group} />;
        }}
      </Ready>
    </main>
  );
}
