import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../../api";
import { useAction } from "../../lib/useAction";
import { PLUGIN_ARCHIVE_BYTES } from "../../limits";
import { plainly } from "../hookTexts";
import { Choices, Field, Problem } from "../parts";
import { useRequests } from "../requests";
import type { NewPlugin, Plugin } from "../types";
import { base64Of, nameOf } from "./archive";
import { LookedAt } from "./LookedAt";
import styles from "../settings.module.css";

const KINDS = ["source", "archive"] as const;

interface Draft {
  kind: (typeof KINDS)[number];
  source: string;
  file: File | null;
}

/** A plugin that was inspected, but is not installed yet. */
interface Looked {
  /** The contents of the form at that time: if they have changed since, the plugin must be inspected again. */
  draft: Draft;
  /** The request, which is sent again to install the same plugin. */
  asked: NewPlugin;
  plugin: Plugin;
}

/** The form that installs a plugin: it is inspected first, and exactly what was shown is installed. The form keeps its contents until
 * then. `chosen` is the source of an offer that the user chose; empty if there is none. */
export function InstallPlugin({ chosen, onInstalled }: { chosen: string; onInstalled: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [draft, setDraft] = useState<Draft>({ kind: "source", source: chosen, file: null });
  const [isIncomplete, setIncomplete] = useState(false);
  const [found, setFound] = useState<Looked | null>(null);
  const [installed, setInstalled] = useState<{ name: string; count: number }>({ name: "", count: 0 });
  const looked = found?.draft === draft ? found : null;
  const isTooLarge = draft.kind === "archive" && draft.file !== null && draft.file.size > PLUGIN_ARCHIVE_BYTES;
  const change = (changed: Partial<Draft>) => {
    setIncomplete(false);
    setDraft((before) => ({ ...before, ...changed }));
  };

  const look = async () => {
    setFound(null);
    setInstalled((before) => ({ ...before, name: "" }));
    const asked = draft.kind === "source" ? { source: draft.source.trim() } : await ofArchive(draft.file, t("plugins.unreadable"));
    setFound({ draft, asked, plugin: await requests.lookAtPlugin(asked) });
  };
  const install = async ({ draft: shown, asked, plugin }: Looked) => {
    try {
      await requests.installPlugin({ ...asked, hash: plugin.hash });
    } catch (problem) {
      if (isOfChange(problem)) setFound(null);
      throw problem;
    }
    setInstalled(({ count }) => ({ name: plugin.name, count: count + 1 }));
    setFound(null);
    // Input entered meanwhile is kept.
    setDraft((before) => (before === shown ? { kind: shown.kind, source: "", file: null } : before));
    await onInstalled();
  };
  const work = useAction((step: () => Promise<void>) => step());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const isEmpty = draft.kind === "source" ? draft.source.trim() === "" : draft.file === null;
    setIncomplete(isEmpty);
    if (!isEmpty && !isTooLarge) void work.run(look);
  };

  const missing = isIncomplete ? t(`plugins.missing.${draft.kind}`) : null;
  return (
    <form className={`${styles.card} ${styles.stack}`} noValidate onSubmit={submit} aria-labelledby="install-plugin">
      <h4 id="install-plugin">{t("plugins.add")}</h4>
      <Choices
        legend={t("plugins.kind")}
        name="plugin-kind"
        value={draft.kind}
        choices={KINDS.map((kind) => ({ value: kind, label: t(`plugins.kinds.${kind}`), hint: t(`plugins.kindHints.${kind}`) }))}
        onChoose={(kind) => change({ kind })}
      />
      {draft.kind === "source" ? (
        <Field label={t("plugins.source")} hint={t("plugins.sourceHint")} problem={missing}>
          {(id, describedBy) => (
            <input
              id={id}
              aria-describedby={describedBy}
              aria-invalid={missing !== null}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              placeholder="github:owner/repository"
              autoFocus={chosen !== ""}
              value={draft.source}
              onChange={(event) => change({ source: event.target.value })}
            />
          )}
        </Field>
      ) : (
        <Field label={t("plugins.file")} hint={t("plugins.fileHint")} problem={isTooLarge ? t("plugins.fileTooLarge") : missing}>
          {(id, describedBy) => (
            <input
              // A file field can be emptied only by replacing it with a new one.
              key={installed.count}
              id={id}
              type="file"
              accept=".zip,.tar.gz,.tgz,application/zip,application/gzip"
              aria-describedby={describedBy}
              aria-invalid={isTooLarge || missing !== null}
              onChange={(event) => change({ file: event.target.files?.[0] ?? null })}
            />
          )}
        </Field>
      )}
      <div className={styles.formEnd}>
        <button type="submit" className={looked === null ? "primary" : ""} disabled={work.busy}>
          {t("plugins.look")}
        </button>
        <span role="status" className="hint">
          {work.busy && t("plugins.working")}
          {!work.busy && looked !== null && t("plugins.looked")}
          {!work.busy && looked === null && installed.name !== "" && t("plugins.installed", { name: plainly(installed.name) })}
        </span>
      </div>
      {looked !== null && (
        <>
          <LookedAt key={looked.plugin.hash} plugin={looked.plugin} />
          <button type="button" className={`primary ${styles.start}`} disabled={work.busy} onClick={() => void work.run(() => install(looked))}>
            {t("plugins.install")}
          </button>
        </>
      )}
      <Problem text={isOfChange(work.problem) ? t("plugins.changed") : work.error} />
    </form>
  );
}

/** The request with the content of an archive, read now, so that exactly the inspected archive is installed even if the file changes. */
async function ofArchive(file: File | null, unreadable: string): Promise<NewPlugin> {
  if (file === null) throw new Error(unreadable);
  const archive = await base64Of(file).catch(() => {
    throw new Error(unreadable);
  });
  return { archive, name: nameOf(file.name) };
}

/** True if the files at the source have changed since they were inspected. */
function isOfChange(problem: unknown): boolean {
  return problem instanceof ApiError && problem.status === 409;
}
