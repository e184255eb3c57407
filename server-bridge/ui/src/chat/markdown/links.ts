import { citationOf } from "../../lib/citation";
import { CITED } from "./citations";

/** Which addresses in a model's text may be followed. Pure. */
const FOLLOWED = ["http:", "https:", "mailto:"];

/** Put before a path of the workspace; it is removed from any address that a model writes. */
const FILE = "sandbridge-file:";

/** The longest path that operating systems accept. */
const PATH_MAX_CHARS = 4096;

/** The address if it may be followed, a marked path if it names a file, else nothing: a script or a link within this page. */
export function safeAddress(address: string | undefined): string {
  if (address?.startsWith(CITED) && citationOf(address) !== null) return address;
  const path = filePath(address ?? "");
  if (path !== null) return FILE + path;
  try {
    return FOLLOWED.includes(new URL(address ?? "").protocol) ? (address ?? "") : "";
  } catch {
    return "";
  }
}

/** The path of a marked address. */
export function pathOf(address: string): string | null {
  return address.startsWith(FILE) ? address.slice(FILE.length) : null;
}

/** The path that a relative link names, without the line or the heading that follows it. */
function filePath(address: string): string | null {
  // The line number in `main.rs:12` or `main.rs:12:5` does not make `main.rs` a scheme.
  const bare = address.replace(/[#?].*$/s, "").replace(/(?::\d+){1,2}$/, "");
  if (bare === "" || bare.length > PATH_MAX_CHARS || /^[\\/]|:|\\/.test(bare)) return null;
  let path: string;
  try {
    path = decodeURIComponent(bare);
  } catch {
    return null;
  }
  // Also if it was written as %0a or %2f.
  if (/[\u0000-\u001f\u007f\\:]|^\//.test(path)) return null;
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  return steps.length === 0 || steps.includes("..") ? null : steps.join("/");
}
