import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "../../api";
import { useActions } from "../../state/context";
import { useFinishedKey } from "../finished";
import { onTarget } from "../open";
import { FileDialogs, type Asked } from "./FileDialogs";
import { FileTree, type EntryRow } from "./FileTree";
import { FileView } from "./FileView";
import { Toolbar } from "./Toolbar";
import { UploadList } from "./UploadList";
import { type Dropped, droppedFiles } from "./dropped";
import { drafts } from "./keptDrafts";
import { type Path, WORKSPACE, keyOf, parent, typedPath } from "./path";
import { type Stat, files } from "./requests";
import { rowsOf } from "./tree";
import { uploads } from "./uploads";
import { useTree } from "./useTree";
import styles from "./files.module.css";

const HIDDEN_KEY = "sandbridge.files.hidden";

interface Props {
  place: string;
  owner: string;
}

/** The tree, and next to it the open file. */
export function Files({ place, owner }: Props) {
  const { t } = useTranslation("panels");
  const actions = useActions();
  const handle = useTree(place);
  const { tree, refresh, reveal, open: openDirectory } = handle;
  const [showHidden, setShowHidden] = useState(() => window.localStorage.getItem(HIDDEN_KEY) === "true");
  const [selected, setSelected] = useState<Selected | null>(null);
  const [opened, setOpened] = useState<Path | null>(null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [error, setError] = useState<string | null>(null);
  const rows = useMemo(() => rowsOf(tree, showHidden), [tree, showHidden]);
  const finished = useRefreshes(refresh);
  useSyncExternalStore(drafts.subscribe, drafts.snapshot);

  const goTo = useCallback(
    async (path: Path) => {
      setError(null);
      try {
        const stat: Stat | null = path.text === "" ? null : await files.stat(place, path);
        reveal(path);
        if (stat === null) return refresh();
        setSelected({ path, kind: stat.kind });
        if (stat.kind === "directory") openDirectory(path);
        else setOpened(path);
      } catch (problem) {
        setError(errorText(problem));
      }
    },
    [place, reveal, refresh, openDirectory],
  );
  useEffect(() => onTarget("files", ({ path }) => path !== undefined && void goTo(typedPath(path))), [goTo]);

  const activate = ({ path, entry, isOpen }: EntryRow) => {
    if (entry.kind === "file") setOpened(path);
    else if (entry.kind === "directory") (isOpen ? handle.close : handle.open)(path);
    // Whether a link is a file or a directory depends on its target.
    else void goTo(path);
  };
  const directory = directoryOf(selected);
  const receive = async (into: Path, data: Dropped) => {
    try {
      const found = await droppedFiles(data);
      setAsked({ kind: "upload", into, files: found });
    } catch (problem) {
      actions.report(problem);
    }
  };
  const changeHidden = (isShown: boolean) => {
    window.localStorage.setItem(HIDDEN_KEY, String(isShown));
    setShowHidden(isShown);
  };
  return (
    <div
      className={opened === null ? styles.files : `${styles.files} ${styles.viewing}`}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void receive(WORKSPACE, event.dataTransfer);
      }}
    >
      <div className={styles.filesTree}>
        <Toolbar
          place={place}
          selected={selected}
          directory={directory}
          showHidden={showHidden}
          onShowHidden={changeHidden}
          onGoTo={(text) => void goTo(typedPath(text))}
          onRefresh={refresh}
          onUpload={(list) => void receive(directory, list)}
          onAsk={setAsked}
        />
        {error !== null && (
          <p className={`problem ${styles.filesProblem}`} role="alert">
            {error}
          </p>
        )}
        <FileTree
          rows={rows}
          selected={selected === null ? null : keyOf(selected.path)}
          isUnsaved={(path) => drafts.of(owner, place, path) !== null}
          onSelect={(row) => setSelected({ path: row.path, kind: row.entry.kind })}
          onActivate={activate}
          onMore={handle.more}
          onRename={(row) => row.path.base64 === null && setAsked({ kind: "rename", path: row.path })}
          onDelete={(row) => setAsked({ kind: "delete", path: row.path, isDirectory: row.entry.kind === "directory" })}
          onDropFiles={(row, data) => void receive(row === null ? WORKSPACE : directoryOf({ path: row.path, kind: row.entry.kind }), data)}
        />
        <UploadList place={place} />
      </div>
      {opened === null ? (
        <p className={`hint ${styles.filesNone}`}>{t("file.none")}</p>
      ) : (
        <FileView
          key={keyOf(opened)}
          place={place}
          owner={owner}
          path={opened}
          finished={finished}
          onClose={() => setOpened(null)}
          onSaved={() => void handle.reload(parent(opened) ?? WORKSPACE)}
        />
      )}
      {asked !== null && (
        <FileDialogs
          place={place}
          asked={asked}
          onClose={() => setAsked(null)}
          onDone={(changed) => {
            setAsked(null);
            for (const path of changed.directories) void handle.reload(path);
            if (changed.selected !== undefined) void goTo(changed.selected);
            const { gone } = changed;
            if (gone === undefined) return;
            if (opened !== null && isWithin(opened, gone)) setOpened(null);
            if (changed.selected === undefined) setSelected({ path: parent(gone) ?? WORKSPACE, kind: "directory" });
          }}
        />
      )}
    </div>
  );
}

/** The entry that the toolbar acts on. */
export interface Selected {
  path: Path;
  kind: Stat["kind"];
}

/** The directory for new entries: the selected one, or that of the selected file. */
function directoryOf(selected: Selected | null): Path {
  if (selected === null) return WORKSPACE;
  return selected.kind === "directory" ? selected.path : (parent(selected.path) ?? WORKSPACE);
}

function isWithin(path: Path, directory: Path): boolean {
  return path.text === directory.text || path.text.startsWith(`${directory.text}/`);
}

/** Reloads the tree whenever a command, a tool or an upload has ended; returns a value that changes each time. */
function useRefreshes(refresh: () => void): string {
  const finished = useFinishedKey();
  const done = useSyncExternalStore(uploads.subscribe, uploads.snapshot).filter(({ state }) => state === "done").length;
  const [first] = useState(`${finished} ${done}`);
  const now = `${finished} ${done}`;
  useEffect(() => {
    // The tree has loaded itself at first.
    if (now !== first) refresh();
  }, [now, first, refresh]);
  return now;
}
