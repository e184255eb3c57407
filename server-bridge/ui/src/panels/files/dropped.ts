/** Files that were chosen or dropped, including those in dropped directories. */
import { UPLOAD_FILES_COUNT } from "../../limits";

/** The files of a drop or of a file chooser. */
export type Dropped = DataTransfer | FileList;

export interface DroppedFile {
  /** The file's path, including the names of dropped directories that contain it. */
  name: string;
  content: File;
}

/** Lists the files; more than `UPLOAD_FILES_COUNT` are an error, and nothing is sent. */
export async function droppedFiles(dropped: Dropped): Promise<DroppedFile[]> {
  if (dropped instanceof FileList) return Array.from(dropped, (content) => ({ name: content.name, content }));
  // Read before the first `await`, after which the browser discards the items.
  const entries = Array.from(dropped.items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const found: DroppedFile[] = [];
  for (const entry of entries) await collect(entry, found);
  return found;
}

async function collect(entry: FileSystemEntry, found: DroppedFile[]): Promise<void> {
  if (isFile(entry)) {
    if (found.length >= UPLOAD_FILES_COUNT) {
      throw new Error(`That is more than ${UPLOAD_FILES_COUNT} files. Upload them as an archive, or with \`sandbridge cp\`.`);
    }
    const content = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    found.push({ name: entry.fullPath.replace(/^\//, ""), content });
  } else if (isDirectory(entry)) {
    const reader = entry.createReader();
    // The browser gives the entries in batches; an empty batch is the end.
    for (;;) {
      const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (batch.length === 0) return;
      for (const inner of batch) await collect(inner, found);
    }
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isDirectory(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
