import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import marks from "../kit/marks.module.css";
import { classes } from "../lib/classes";
import { leaveGroup } from "../lib/location";
import { useAction } from "../lib/useAction";
import { Field, Problem } from "../settings/parts";
import { useAppState } from "../state/context";
import { AgentForm } from "./AgentForm";
import { AgentCard } from "./AgentCard";
import { Conversations } from "./Conversations";
import { useGroupRequests } from "./requests";
import { type Access, ACCESSES, type Group, type GroupAgent, includes } from "./types";
import styles from "./groups.module.css";

interface Props {
  group: Group;
  reload: () => Promise<void>;
}

/** The people and the agents of a group, who may ask whom, and the group's name. */
export function Members({ group, reload }: Props) {
  const { t } = useTranslation("groups");
  const { me } = useAppState("me");
  const requests = useGroupRequests();
  const [edited, setEdited] = useState<GroupAgent | null>(null);
  const act = useAction(async (work: () => Promise<unknown>) => {
    await work();
    await reload();
  });
  const leave = useAction(async (work: () => Promise<unknown>) => {
    await work();
    leaveGroup();
  });
  const isEditor = includes(group.access, "editor");
  const isOwner = group.access === "owner";
  /** True if the user may manage a person with this access: editors manage members and readers, owners everybody. */
  const manages = (access: Access) => isOwner || (isEditor && !includes(access, "editor"));
  return (
    <div className={styles.part}>
      <div className={styles.column}>
        <Problem text={act.error ?? leave.error} />
        <section aria-labelledby="people">
          <h2 id="people">{t("people")}</h2>
          <ul className={styles.rows}>
            {group.people.map(({ name, access }) => (
              <li key={name} data-testid="person">
                <strong>{name}</strong>
                {manages(access) && name !== me?.name ? (
                  <>
                    <select
                      aria-label={t("accessOf", { name })}
                      value={access}
                      onChange={(event) => {
                        const chosen = event.target.value as Access;
                        void act.run(() => requests.putPerson(group.id, name, chosen));
                      }}
                    >
                      {ACCESSES.filter(manages).map((one) => (
                        <option key={one} value={one}>
                          {t(`access.${one}`)}
                        </option>
                      ))}
                    </select>
                    <ConfirmButton
                      label={t("remove")}
                      name={t("removeName", { name })}
                      question={t("removeQuestion", { name })}
                      confirmLabel={t("remove")}
                      onConfirm={() => void act.run(() => requests.removePerson(group.id, name))}
                    />
                  </>
                ) : (
                  <span className={marks.badge}>{t(`access.${access}`)}</span>
                )}
              </li>
            ))}
          </ul>
          {isEditor && <AddPerson group={group} accesses={ACCESSES.filter(manages)} reload={reload} />}
        </section>
        <section aria-labelledby="agents">
          <h2 id="agents">{t("agents")}</h2>
          {group.agents.length === 0 && <p className="hint">{t("noAgentsYet")}</p>}
          <ul className={styles.cards}>
            {group.agents.map((agent) => (
              <AgentCard key={agent.handle} group={group} agent={agent} act={(work) => void act.run(work)} onEdit={() => setEdited(agent)} />
            ))}
          </ul>
          {includes(group.access, "member") && <AgentForm key={edited?.handle} group={group} edited={edited} onSaved={async () => (setEdited(null), await reload())} />}
        </section>
        <Conversations group={group} />
        <section aria-labelledby="this-group" className={styles.rows}>
          <h2 id="this-group">{t("thisGroup")}</h2>
          {isEditor && <Rename key={group.title} group={group} reload={reload} />}
          {me !== null && (
            <ConfirmButton label={t("leave")} question={t("leaveQuestion", { title: group.title })} confirmLabel={t("leave")} onConfirm={() => void leave.run(() => requests.removePerson(group.id, me.name))} />
          )}
          {isOwner && (
            <ConfirmButton label={t("delete")} question={t("deleteQuestion", { title: group.title })} confirmLabel={t("delete")} onConfirm={() => void leave.run(() => requests.remove(group.id))} />
          )}
        </section>
      </div>
    </div>
  );
}

function AddPerson({ group, accesses, reload }: Props & { accesses: Access[] }) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const [name, setName] = useState("");
  const [access, setAccess] = useState<Access>("member");
  const add = useAction(async () => {
    await requests.putPerson(group.id, name.trim(), access);
    setName("");
    await reload();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className={styles.line} onSubmit={submit} aria-label={t("addPerson")}>
      <Field label={t("personName")}>{(id) => <input id={id} autoCapitalize="none" autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />}</Field>
      <Field label={t("accessWord")}>
        {(id) => (
          <select id={id} value={access} onChange={(event) => setAccess(event.target.value as Access)}>
            {accesses.map((one) => (
              <option key={one} value={one}>
                {t(`access.${one}`)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <button type="submit" disabled={add.busy || name.trim() === ""}>
        {t("addPerson")}
      </button>
      <Problem text={add.error} />
    </form>
  );
}

function Rename({ group, reload }: Props) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const [title, setTitle] = useState(group.title);
  const rename = useAction(async () => {
    await requests.rename(group.id, title.trim());
    await reload();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void rename.run();
  };
  return (
    <form className={classes(styles.line)} onSubmit={submit} aria-label={t("rename")}>
      <Field label={t("name")}>{(id) => <input id={id} value={title} onChange={(event) => setTitle(event.target.value)} />}</Field>
      <button type="submit" disabled={rename.busy || title.trim() === "" || title === group.title}>
        {t("rename")}
      </button>
      <Problem text={rename.error} />
    </form>
  );
}
