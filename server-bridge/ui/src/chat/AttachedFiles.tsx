import { Paperclip } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { fileUrl } from "../api";
import { DownloadLink } from "../kit/DownloadLink";
import { withTicket } from "../lib/download";
import { useAppState } from "../state/context";
import { openChatOf } from "../state/state";

const LINE = /^\[attached: (.+)\]$/;
const IMAGE = /\.(png|jpe?g|gif|webp)$/i;

/** A message's own words, and the files that were sent with it. */
export function splitAttached(text: string): { text: string; paths: string[] } {
  const lines = text.split("\n");
  const paths: string[] = [];
  for (let path = LINE.exec(lines.at(-1) ?? "")?.[1]; path !== undefined; path = LINE.exec(lines.at(-1) ?? "")?.[1]) {
    paths.unshift(path);
    lines.pop();
  }
  return paths.length === 0 ? { text, paths } : { text: lines.join("\n").trimEnd(), paths };
}

/** Files that were sent with a message, images as such. */
export function AttachedFiles({ paths }: { paths: string[] }) {
  const { t } = useTranslation("chat");
  const place = openChatOf(useAppState())?.runner ?? null;
  return (
    <ul className="attached" aria-label={t("attach.list")}>
      {paths.map((path) => (
        <li key={path}>
          <Attached path={path} place={place} />
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
        // Its machine may be away, or it may be gone.
        <img src={source} alt={t("attach.image", { name })} onError={() => setShown(false)} />
      ) : (
        <>
          <Paperclip aria-hidden="true" /> {name}
        </>
      )}
    </DownloadLink>
  );
}
