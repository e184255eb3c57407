import { Paperclip } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { fileUrl } from "../api";
import { DownloadLink } from "../kit/DownloadLink";
import { withTicket } from "../lib/download";
import { useSelected } from "../state/context";
import { openChatOf } from "../state/state";
import { placeName } from "../state/where";
import styles from "./messages.module.css";

/** A path, and its machine if the message names one. */
const LINE = /^\[attached: (.+?)(?: on ([^ ]+))?\]$/;
const IMAGE = /\.(png|jpe?g|gif|webp)$/i;

/** A file that was sent with a message: its path in the workspace, and its machine if known. */
export interface AttachedFile {
  path: string;
  place: string | null;
}

/** Splits a message into its text and the files that were sent with it. */
export function splitAttached(text: string): { text: string; files: AttachedFile[] } {
  const lines = text.split("\n");
  const files: AttachedFile[] = [];
  for (let found = LINE.exec(lines.at(-1) ?? ""); found !== null; found = LINE.exec(lines.at(-1) ?? "")) {
    files.unshift({ path: found[1] ?? "", place: found[2] ?? null });
    lines.pop();
  }
  return files.length === 0 ? { text, files } : { text: lines.join("\n").trimEnd(), files };
}

/** The files that were sent with a message; images are shown as images. */
export function AttachedFiles({ files }: { files: AttachedFile[] }) {
  const { t } = useTranslation("chat");
  // For messages from before the machine was recorded; the chat may have moved since.
  const bound = useSelected(openChatOf)?.runner ?? null;
  return (
    <ul className={styles.attached} aria-label={t("attach.list")}>
      {files.map(({ path, place }) => (
        <li key={path}>
          <Attached path={path} place={place ?? bound} />
          <small className="hint">{place === null ? path : t("attach.where", { path, place: placeName(place) })}</small>
        </li>
      ))}
    </ul>
  );
}

function Attached({ path, place }: { path: string; place: string | null }) {
  const { t } = useTranslation("chat");
  const [isShown, setShown] = useState(IMAGE.test(path));
  const name = path.split("/").at(-1) ?? path;
  const address = fileUrl(path, place);
  const [source, setSource] = useState<string>();
  useEffect(() => {
    let isWanted = true;
    if (!isShown) return;
    withTicket(address).then(
      (found) => isWanted && setSource(found),
      () => isWanted && setShown(false),
    );
    return () => {
      isWanted = false;
    };
  }, [address, isShown]);
  return (
    <DownloadLink address={address} name={name}>
      {isShown ? (
        // The file's machine may be offline, or the file may have been deleted.
        <img src={source} alt={t("attach.image", { name })} onError={() => setShown(false)} />
      ) : (
        <>
          <Paperclip aria-hidden="true" /> {name}
        </>
      )}
    </DownloadLink>
  );
}
