import { ChevronDown, ChevronRight, CornerDownRight, File, FileQuestion, Folder, FolderOpen } from "lucide-react";
import { type ComponentPropsWithRef, type KeyboardEvent, useEffect, useId, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Virtuoso, type VirtuosoHandle } from "react-virtuoso";
import { bytesText } from "../size";
import type { Entry, Path } from "./path";
import { type Row, moved, parentRow, typedAhead } from "./tree";
import { classes } from "../../lib/classes";
import styles from "./files.module.css";

export type EntryRow = Extract<Row, { kind: "entry" }>;

interface Props {
  rows: Row[];
  selected: string | null;
  /** True if the file has unsaved text. */
  isUnsaved: (path: Path) => boolean;
  onSelect: (row: EntryRow) => void;
  /** Opens a file, or opens or closes a directory. */
  onActivate: (row: EntryRow) => void;
  onMore: (directory: Path) => void;
  onRename: (row: EntryRow) => void;
  onDelete: (row: EntryRow) => void;
  /** Called for files dropped on a directory or on an entry in it; null for the workspace. */
  onDropFiles: (row: EntryRow | null, data: DataTransfer) => void;
}

/** The visible part of the tree. The focus stays on the tree, and `aria-activedescendant` names the selected row. */
export function FileTree(props: Props) {
  const { rows, selected, onSelect } = props;
  const { t } = useTranslation("panels");
  const id = useId();
  const list = useRef<VirtuosoHandle>(null);
  const at = rows.findIndex((row) => row.key === selected);
  const onKeyDown = useTreeKeys(props, at);

  useEffect(() => {
    if (at !== -1) list.current?.scrollIntoView({ index: at });
  }, [at]);
  const focus = () => {
    const first = rows.find((row) => row.kind === "entry");
    if (at === -1 && first?.kind === "entry") onSelect(first);
  };
  return (
    <Virtuoso<Row, TreeContext>
      ref={list}
      className={styles.fileTree}
      data={rows}
      context={{
        label: t("file.tree"),
        active: at === -1 ? undefined : `${id}-${at}`,
        onKeyDown,
        onFocus: focus,
      }}
      components={{ Scroller }}
      computeItemKey={(_, row) => row.key}
      itemContent={(index, row) =>
        row.kind === "entry" ? (
          <EntryItem {...props} id={`${id}-${index}`} row={row} isSelected={index === at} />
        ) : (
          <AboutItem row={row} onMore={props.onMore} />
        )
      }
    />
  );
}

interface TreeContext {
  label: string;
  active: string | undefined;
  onKeyDown: (event: KeyboardEvent) => void;
  onFocus: () => void;
}

function Scroller({ context, ...rest }: ComponentPropsWithRef<"div"> & { context?: TreeContext }) {
  return (
    <div
      {...rest}
      role="tree"
      tabIndex={0}
      aria-label={context?.label}
      aria-activedescendant={context?.active}
      onKeyDown={context?.onKeyDown}
      onFocus={context?.onFocus}
    />
  );
}

/** Arrow keys and typing a name work as in any tree; F2 and Delete for the selected entry. */
function useTreeKeys({ rows, onSelect, onActivate, onRename, onDelete }: Props, at: number): (event: KeyboardEvent) => void {
  const row = rows[at];
  const select = (index: number) => {
    const target = rows[index];
    if (target?.kind === "entry") onSelect(target);
  };
  const act = (key: string): boolean => {
    if (row?.kind !== "entry") return false;
    if (key === "Enter" || key === " ") onActivate(row);
    else if (key === "F2") onRename(row);
    else if (key === "Delete") onDelete(row);
    else if (key === "ArrowRight" && row.isOpen === false) onActivate(row);
    else if (key === "ArrowRight" && row.isOpen) select(at + 1);
    else if (key === "ArrowLeft" && row.isOpen) onActivate(row);
    else if (key === "ArrowLeft") select(parentRow(rows, at));
    else return false;
    return true;
  };
  return (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { key } = event;
    const isMove = ["ArrowDown", "ArrowUp", "Home", "End"].includes(key);
    if (isMove) select(moved(rows, at, key));
    else if (!act(key)) {
      if (key.length !== 1 || key === " ") return;
      select(typedAhead(rows, at, key));
    }
    event.preventDefault();
  };
}

interface ItemProps extends Props {
  id: string;
  row: EntryRow;
  isSelected: boolean;
}

function EntryItem({ id, row, isSelected, isUnsaved, onSelect, onActivate, onDropFiles }: ItemProps) {
  const { t } = useTranslation("panels");
  const { entry, level } = row;
  return (
    <div
      className={styles.treeRow}
      role="treeitem"
      id={id}
      aria-level={level}
      aria-setsize={row.count}
      aria-posinset={row.position}
      aria-expanded={row.isOpen ?? undefined}
      aria-selected={isSelected}
      style={{ paddingInlineStart: `${0.4 + (level - 1) * 0.9}rem` }}
      onClick={() => {
        onSelect(row);
        onActivate(row);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        event.stopPropagation();
        onDropFiles(row, event.dataTransfer);
      }}
    >
      <span className={styles.twist} aria-hidden="true">
        {row.isOpen !== null && (row.isOpen ? <ChevronDown /> : <ChevronRight />)}
      </span>
      <KindIcon kind={entry.kind} isOpen={row.isOpen === true} />
      <span className={styles.name}>{entry.name}</span>
      {isUnsaved(row.path) && <span className={styles.unsaved} role="img" aria-label={t("file.unsaved")} title={t("file.unsaved")} />}
      {entry.kind === "symlink" && <span className="hint">{t("file.link")}</span>}
      {entry.kind === "file" && <span className="hint">{bytesText(entry.size)}</span>}
    </div>
  );
}

function KindIcon({ kind, isOpen }: { kind: Entry["kind"]; isOpen: boolean }) {
  const Icon = { file: File, directory: isOpen ? FolderOpen : Folder, symlink: CornerDownRight, other: FileQuestion }[kind];
  return <Icon className={classes(styles.kind, styles[kind])} aria-hidden="true" />;
}

function AboutItem({ row, onMore }: { row: Exclude<Row, EntryRow>; onMore: (directory: Path) => void }) {
  const { t } = useTranslation("panels");
  const indent = { paddingInlineStart: `${1.6 + (row.level - 1) * 0.9}rem` };
  // A row of a tree must have the role `treeitem`, even if it is not an entry.
  return (
    <div className={`${styles.treeRow} ${styles.about}`} role="treeitem" aria-level={row.level} aria-selected={false} style={indent}>
      {row.kind === "loading" && <span className="hint">{t("file.loading")}</span>}
      {row.kind === "empty" && <span className="hint">{t("file.empty")}</span>}
      {row.kind === "error" && <span className="problem">{row.text}</span>}
      {row.kind === "more" && (
        <button type="button" className="quiet" tabIndex={-1} onClick={() => onMore(row.directory)}>
          {t("file.more", { count: Number(row.text) })}
        </button>
      )}
    </div>
  );
}
