import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLoaded } from "../lib/useLoaded";
import { Field, Problem, Ready } from "../settings/parts";
import { useGroupRequests } from "./requests";
import type { ChainDraft, Group } from "./types";
import { useGroupList, useOfGroup } from "./useGroups";
import styles from "./groups.module.css";

/** A chain to begin a new chain with. */
export interface Beginning {
  /** The name shown to people. */
  title: string;
  chain: ChainDraft;
  text: string;
}

interface Props {
  group: Group;
  /** True if the user has written something that choosing a beginning would replace. */
  isWritten: boolean;
  onBegin: (beginning: Beginning) => void;
}

/** Prefixes of the choices' values: the kind, followed by the name or the id. */
const TEMPLATE = "template ";
const GROUP = "group ";

/** The choice of what a new chain begins with: a template, or a chain of another group. Written text is replaced only after a confirmation. */
export function BeginWith({ group, isWritten, onBegin }: Props) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const templates = useLoaded(["chain-templates", document.documentElement.lang], requests.chainTemplates);
  const groups = useGroupList(requests.groups);
  const [chosen, setChosen] = useState("");
  const [asked, setAsked] = useState<Beginning | null>(null);
  const choice = useRef<HTMLSelectElement>(null);
  const others = (groups.value ?? []).filter((other) => other.id !== group.id);
  const template = templates.value?.find(({ name }) => TEMPLATE + name === chosen);
  const other = others.find(({ id }) => GROUP + id === chosen);
  const begin = (beginning: Beginning) => (isWritten ? setAsked(beginning) : onBegin(beginning));
  const choose = (value: string) => {
    setChosen(value);
    setAsked(null);
    const found = templates.value?.find(({ name }) => TEMPLATE + name === value);
    if (found !== undefined) begin(found);
  };
  const answer = (replaces: boolean) => {
    if (replaces && asked !== null) onBegin(asked);
    else setChosen("");
    setAsked(null);
    // The button that had the focus has been removed.
    choice.current?.focus();
  };
  const question = asked === null ? "" : t("replaceQuestion", { title: asked.title });
  return (
    <>
      <Field label={t("beginWith")} hint={template?.what}>
        {(id, hint) => (
          <select id={id} ref={choice} aria-describedby={hint} value={chosen} onChange={(event) => choose(event.target.value)}>
            <option value="">{t("beginEmpty")}</option>
            <optgroup label={t("chainTemplates")}>
              {templates.value?.map(({ name, title }) => (
                <option key={name} value={TEMPLATE + name}>
                  {title}
                </option>
              ))}
            </optgroup>
            {others.length > 0 && (
              <optgroup label={t("otherGroups")}>
                {others.map(({ id: number, title }) => (
                  <option key={number} value={GROUP + number}>
                    {title}
                  </option>
                ))}
              </optgroup>
            )}
          </select>
        )}
      </Field>
      {other !== undefined && <ChainOf key={other.id} group={other} onChoose={begin} />}
      {asked !== null && (
        <div role="group" aria-label={question} className={styles.line}>
          <span>{question}</span>
          <button type="button" className="danger" onClick={() => answer(true)}>
            {t("replace")}
          </button>
          <button type="button" className="quiet" autoFocus onClick={() => answer(false)}>
            {t("keepWritten")}
          </button>
        </div>
      )}
      <Problem text={templates.error ?? groups.error} />
    </>
  );
}

/** Chooses a chain of another group. */
function ChainOf({ group, onChoose }: { group: Group; onChoose: (beginning: Beginning) => void }) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const chains = useOfGroup(group.id, "chains", () => requests.chains(group.id));
  return (
    <Ready loaded={chains}>
      {(all) =>
        all.length === 0 ? (
          <p className="hint">{t("noChainsIn", { title: group.title })}</p>
        ) : (
          <Field label={t("chainIn", { title: group.title })}>
            {(id) => (
              <select
                id={id}
                defaultValue=""
                onChange={(event) => {
                  const found = all.find(({ name }) => name === event.target.value);
                  if (found !== undefined) onChoose({ ...found, title: found.name });
                }}
              >
                <option value="" disabled>
                  {t("chooseChain")}
                </option>
                {all.map(({ name }) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )
      }
    </Ready>
  );
}
