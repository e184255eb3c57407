import { Download, EllipsisVertical, FilePlus, FolderPlus, RefreshCw, Upload } from "lucide-react";
import { type FormEvent, type ReactNode, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { DownloadLink } from "../../kit/DownloadLink";
import { Menu, type MenuItem } from "../../kit/Menu";
import { placeName } from "../../state/where";
import type { Asked } from "./FileDialogs";
import type { Selected } from "./Files";
import { type Path, WORKSPACE, nameOf } from "./path";
import { downloadUrl } from "./requests";
import styles from "./files.module.css";

interface Props {
  place: string;
  selected: Selected | null;
  /** The directory for new entries. */
  directory: Path;
  showHidden: boolean;
  onShowHidden: (isShown: boolean) => void;
  onGoTo: (text: string) => void;
  onRefresh: () => void;
  onUpload: (files: FileList) => void;
  onAsk: (asked: Asked) => void;
}

/** Above the tree: the current directory, the actions, and a field for a path to go to. */
export function Toolbar({ place, selected, directory, showHidden, onShowHidden, onGoTo, onRefresh, onUpload, onAsk }: Props) {
  const { t } = useTranslation("panels");
  const chooser = useRef<HTMLInputElement>(null);
  const target = selected ?? { path: WORKSPACE, kind: "directory" as const };
  const isDirectory = target.kind === "directory";
  const into = directory.text === "" ? t("file.workspace") : directory.text;
  const items: MenuItem[] = [
    { label: showHidden ? t("file.hideHidden") : t("file.showHidden"), onSelect: () => onShowHidden(!showHidden) },
  ];
  if (selected !== null) {
    const { path } = selected;
    if (path.base64 === null) items.unshift({ label: t("file.renameOf", { name: nameOf(path) }), onSelect: () => onAsk({ kind: "rename", path }) });
    items.push({ label: t("file.deleteOf", { name: nameOf(path) }), danger: true, onSelect: () => onAsk({ kind: "delete", path, isDirectory }) });
  }
  return (
    <div className={styles.filesBar}>
      <div className={styles.filesTools} role="toolbar" aria-label={t("file.tools")}>
        <strong title={t("file.where")}>{placeName(place)}</strong>
        <Tool label={t("file.newFile", { into })} onClick={() => onAsk({ kind: "file", into: directory })}>
          <FilePlus aria-hidden="true" />
        </Tool>
        <Tool label={t("file.newFolder", { into })} onClick={() => onAsk({ kind: "folder", into: directory })}>
          <FolderPlus aria-hidden="true" />
        </Tool>
        <Tool label={t("file.upload", { into })} onClick={() => chooser.current?.click()}>
          <Upload aria-hidden="true" />
        </Tool>
        <DownloadLink
          className="button quiet icon"
          address={downloadUrl(place, target.path, target.kind)}
          name={isDirectory ? `${nameOf(target.path) || "workspace"}.tar` : nameOf(target.path)}
          label={t(isDirectory ? "file.downloadTar" : "file.download", { name: nameOf(target.path) || t("file.workspace") })}
        >
          <Download aria-hidden="true" />
        </DownloadLink>
        <Tool label={t("file.refresh")} onClick={onRefresh}>
          <RefreshCw aria-hidden="true" />
        </Tool>
        <Menu
          trigger={
            <button type="button" className="quiet icon" aria-label={t("file.others")}>
              <EllipsisVertical aria-hidden="true" />
            </button>
          }
          items={items}
        />
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          data-testid="upload-chooser"
          onChange={(event) => {
            if (event.target.files !== null && event.target.files.length > 0) onUpload(event.target.files);
            // Choosing the same file again must fire another change event; the chosen files have been read by now.
            event.target.value = "";
          }}
        />
      </div>
      <PathField key={selected?.path.text ?? ""} path={selected?.path.text ?? ""} onGoTo={onGoTo} />
    </div>
  );
}

function Tool({ label, onClick, children }: { label: string; onClick: () => void; children: ReactNode }) {
  return (
    <button type="button" className="quiet icon" aria-label={label} title={label} onClick={onClick}>
      {children}
    </button>
  );
}

function PathField({ path, onGoTo }: { path: string; onGoTo: (text: string) => void }) {
  const { t } = useTranslation("panels");
  const [text, setText] = useState(path);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onGoTo(text);
  };
  return (
    <form className={styles.filesPath} onSubmit={submit}>
      <input
        aria-label={t("file.path")}
        placeholder={t("file.path")}
        value={text}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  );
}
