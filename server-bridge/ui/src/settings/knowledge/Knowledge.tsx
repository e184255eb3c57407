import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { plainly } from "../hookTexts";
import { Field, Problem, Ready } from "../parts";
import { useRequests } from "../requests";
import { CollectionCard } from "./CollectionCard";
import { SearchBox } from "./SearchBox";
import styles from "../settings.module.css";
import layout from "../mcp/mcp.module.css";

/** The collections that the user can search, a search box, and a form for a new collection. */
export default function Knowledge() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["knowledge"], requests.collections);
  // The card disappears with the collection, so an error of the removal is shown here.
  const remove = useAction(async (id: number) => {
    await requests.removeCollection(id);
    await loaded.reload();
  });
  return (
    <>
      <SearchBox />
      <section className={layout.list} aria-labelledby="collections">
        <h4 id="collections">{t("knowledge.collections")}</h4>
        <Ready loaded={loaded}>
          {({ collections }) => (
            <>
              {collections.length === 0 && <p className={styles.nothing}>{t("knowledge.none")}</p>}
              <ul className={styles.cards}>
                {collections.map((collection) => (
                  <CollectionCard
                    key={collection.id}
                    collection={collection}
                    onChanged={loaded.reload}
                    onRemove={() => void remove.run(collection.id)}
                  />
                ))}
              </ul>
            </>
          )}
        </Ready>
        <Problem text={remove.error} />
      </section>
      <NewCollection onMade={loaded.reload} />
    </>
  );
}

function NewCollection({ onMade }: { onMade: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [name, setName] = useState("");
  const [folder, setFolder] = useState("");
  const [made, setMade] = useState("");
  const make = useAction(async () => {
    const [place = "", path = ""] = folder.trim().split(/:(.*)/s);
    const draft = place === "" ? { name: name.trim() } : { name: name.trim(), place, path: path === "" ? "." : path };
    const collection = await requests.addCollection(draft);
    setMade(collection.name);
    setName("");
    setFolder("");
    await onMade();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setMade("");
    void make.run();
  };
  return (
    <form className={`${styles.card} ${styles.stack}`} onSubmit={submit} aria-labelledby="new-collection">
      <h4 id="new-collection">{t("knowledge.add")}</h4>
      <Field label={t("name")}>
        {(id) => <input id={id} required autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label={t("knowledge.folder")} hint={t("knowledge.folderHint")}>
        {(id, describedBy) => (
          <input
            id={id}
            aria-describedby={describedBy}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            placeholder="laptop:docs"
            value={folder}
            onChange={(event) => setFolder(event.target.value)}
          />
        )}
      </Field>
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={make.busy}>
          {t("knowledge.make")}
        </button>
        <span role="status" className="hint">
          {made !== "" && t("knowledge.made", { name: plainly(made) })}
        </span>
      </div>
      <Problem text={make.error} />
    </form>
  );
}
