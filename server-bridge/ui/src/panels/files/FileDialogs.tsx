import { type FormEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "../../kit/Dialog";
import { useAction } from "../../lib/useAction";
import { placeName } from "../../state/where";
import { bytesText } from "../size";
import type { DroppedFile } from "./dropped";
import { type Path, WORKSPACE, child, entryNameProblem, keyOf, nameOf, parent } from "./path";
import { files } from "./requests";
import { uploads } from "./uploads";
import styles from "./files.module.css";
import dialogs from "../../kit/Dialog.module.css";

/** A change that the user requested, and the dialog that asks for its details. */
export type Asked =
  | { kind: "file" | "folder"; into: Path }
  | { kind: "rename"; path: Path }
  | { kind: "delete"; path: Path; isDirectory: boolean }
  | { kind: "upload"; into: Path; files: DroppedFile[] };

/** The effect of a change on the tree. */
export interface Changed {
  directories: Path[];
  /** The entry to select after the change. */
  selected?: Path;
  /** The entry that was renamed or deleted. */
  gone?: Path;
}

interface Props<Kind extends Asked = Asked> {
  place: string;
  asked: Kind;
  onClose: () => void;
  onDone: (changed: Changed) => void;
}

export function FileDialogs({ asked, ...rest }: Props) {
  switch (asked.kind) {
    case "file":
    case "folder":
    case "rename":
      return <NameDialog asked={asked} {...rest} />;
    case "delete":
      return <DeleteDialog asked={asked} {...rest} />;
    case "upload":
      return <UploadDialog asked={asked} {...rest} />;
  }
}

function NameDialog({ place, asked, onClose, onDone }: Props<Extract<Asked, { kind: "file" | "folder" | "rename" }>>) {
  const { t } = useTranslation("panels");
  const into = asked.kind === "rename" ? (parent(asked.path) ?? WORKSPACE) : asked.into;
  const [name, setName] = useState(asked.kind === "rename" ? nameOf(asked.path) : "");
  const [problem, setProblem] = useState<string | null>(null);
  const change = useAction(async () => {
    const path = child(into, { name });
    if (asked.kind === "rename") await files.rename(place, asked.path, path);
    else if (asked.kind === "folder") await files.mkdir(place, path);
    else await files.write(place, path, new Uint8Array(0), null);
    onDone({ directories: [into], selected: path, ...(asked.kind === "rename" && { gone: asked.path }) });
  });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const wrong = entryNameProblem(name);
    if (wrong !== null) return setProblem(t(`file.nameProblem.${wrong}`));
    if (asked.kind === "rename" && name === nameOf(asked.path)) return onClose();
    // A new name that would replace an existing entry is refused.
    const taken = await isTaken(place, into, name);
    setProblem(taken ? t("file.taken", { name }) : null);
    if (!taken) await change.run();
  };
  return (
    <Dialog title={t(`file.ask.${asked.kind}`, { into: into.text || t("file.workspace") })} onClose={onClose}>
      <form className={dialogs.dialogBody} onSubmit={(event) => void submit(event)}>
        <input aria-label={t("file.name")} value={name} autoFocus spellCheck={false} autoComplete="off" onChange={(event) => setName(event.target.value)} />
        <p className="problem" role="alert">
          {problem ?? change.error}
        </p>
        <div className={dialogs.dialogButtons}>
          <button type="submit" className="primary" disabled={change.busy}>
            {asked.kind === "rename" ? t("file.rename") : t("file.create")}
          </button>
          <button type="button" className="quiet" onClick={onClose}>
            {t("file.cancel")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

async function isTaken(place: string, directory: Path, name: string): Promise<boolean> {
  // If listing fails, the change fails too, and reports the error.
  const entries = await files.list(place, directory).catch(() => []);
  return entries.some((entry) => entry.name === name);
}

function DeleteDialog({ place, asked, onClose, onDone }: Props<Extract<Asked, { kind: "delete" }>>) {
  const { t } = useTranslation("panels");
  const { path, isDirectory } = asked;
  const remove = useAction(async () => {
    await files.remove(place, path, isDirectory);
    onDone({ directories: [parent(path) ?? WORKSPACE], gone: path });
  });
  return (
    <Dialog title={t("file.ask.delete", { name: nameOf(path) })} onClose={onClose}>
      <div className={dialogs.dialogBody}>
        <p>{t(isDirectory ? "file.deleteDirectory" : "file.deleteFile", { path: path.text, place: placeName(place) })}</p>
        <p className="problem" role="alert">
          {remove.error}
        </p>
        <div className={dialogs.dialogButtons}>
          <button type="button" className="danger" disabled={remove.busy} onClick={() => void remove.run()}>
            {t("file.delete")}
          </button>
          <button type="button" className="quiet" autoFocus onClick={onClose}>
            {t("file.keep")}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** Begins an upload at once if it replaces nothing; otherwise asks first. */
function UploadDialog({ place, asked, onClose }: Props<Extract<Asked, { kind: "upload" }>>) {
  const { t } = useTranslation("panels");
  const [replaced, setReplaced] = useState<string[] | null>(null);
  const begin = (chosen: DroppedFile[]) => {
    uploads.add(place, chosen.map(({ name, content }) => ({ path: child(asked.into, { name }), content })));
    onClose();
  };
  const look = useAction(async () => {
    const found = await existing(place, asked.into, asked.files);
    if (found.length > 0) return setReplaced(found);
    begin(asked.files);
  });
  const { run } = look;
  const begun = useRef(false);
  useEffect(() => {
    // Only once, since the request does not change while the dialog is shown.
    if (begun.current) return;
    begun.current = true;
    void run();
  }, [run]);
  if (replaced === null && look.error === null) return null;
  const others = asked.files.filter(({ name }) => !replaced?.includes(name));
  const bytes = asked.files.reduce((sum, { content }) => sum + content.size, 0);
  return (
    <Dialog title={t("file.ask.replace")} onClose={onClose}>
      <div className={dialogs.dialogBody}>
        {look.error !== null && <p className="problem">{look.error}</p>}
        <ul className={styles.replaced}>
          {replaced?.slice(0, REPLACED_SHOWN).map((name) => <li key={name}>{name}</li>)}
        </ul>
        {(replaced?.length ?? 0) > REPLACED_SHOWN && <p className="hint">…</p>}
        <div className={dialogs.dialogButtons}>
          {replaced !== null && (
            <button type="button" className="danger" onClick={() => begin(asked.files)}>
              {t("file.replaceAll", { size: bytesText(bytes) })}
            </button>
          )}
          {replaced !== null && others.length > 0 && (
            <button type="button" onClick={() => begin(others)}>
              {t("file.onlyNew")}
            </button>
          )}
          <button type="button" className="quiet" onClick={onClose}>
            {t("file.cancel")}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

const REPLACED_SHOWN = 10;

/** The names of chosen files that already exist; each directory is listed once. */
async function existing(place: string, into: Path, chosen: DroppedFile[]): Promise<string[]> {
  const listings = new Map<string, Promise<Set<string>>>();
  const namesIn = (directory: Path) => {
    const key = keyOf(directory);
    const known = listings.get(key) ?? files.list(place, directory).then((entries) => new Set(entries.map(({ name }) => name)));
    listings.set(key, known);
    return known;
  };
  const found: string[] = [];
  for (const { name } of chosen) {
    const path = child(into, { name });
    const isInside = name.includes("/");
    // A directory that does not exist yet is treated as empty.
    const names = await namesIn(parent(path) ?? WORKSPACE).catch((error: unknown) => {
      if (isInside) return new Set<string>();
      throw error;
    });
    if (names.has(nameOf(path))) found.push(name);
  }
  return found;
}
