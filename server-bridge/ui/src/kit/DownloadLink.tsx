import type { MouseEvent, ReactNode } from "react";
import { download } from "../lib/download";
import { useActions } from "../state/context";

interface Props {
  /** The URL of the file on this server. */
  address: string;
  /** The file's name; if absent, the name that the server gives. */
  name?: string;
  className?: string;
  /** The accessible name, if the link shows only an icon. */
  label?: string;
  children: ReactNode;
}

/** A link that downloads a file of this server. */
export function DownloadLink({ address, name = "", className, label, children }: Props) {
  const { report } = useActions();
  const begin = (event: MouseEvent) => {
    event.preventDefault();
    void download(address, name).catch(report);
  };
  return (
    <a className={className} href={address} download={name} aria-label={label} title={label} onClick={begin}>
      {children}
    </a>
  );
}
