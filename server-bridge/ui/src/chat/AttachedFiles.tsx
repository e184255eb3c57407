import { Paperclip } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { fileUrl } from "../api";
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
  return (
    <a href={address} download={name}>
      {isShown ? (
        // Its machine may be away, or it may be gone.
        <img src={address} alt={t("attach.image", { name })} loading="lazy" onError={() => setShown(false)} />
      ) : (
        <>
          <Paperclip aria-hidden="true" /> {name}
        </>
      )}
    </a>
  );
}
