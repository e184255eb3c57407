import { citationOf } from "../../lib/citation";
import { CITED } from "./citations";

/** The schemes of addresses that may be followed in a model's text. Pure. */
const FOLLOWED = ["http:", "https:", "mailto:"];

/** The prefix of a path in the workspace; an address from the model that has this prefix is refused. */
const FILE = "sandbridge-file:";

/** The longest path that operating systems accept. */
const PATH_MAX_CHARS = 4096;

/** The address if it may be followed, or a marked path if it names a file. Empty for anything else, such as a script or a link within the page. */
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
  // Decoded, so that %0a and %2f are found too.
  if (/[\u0000-\u001f\u007f\\:]|^\//.test(path)) return null;
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  return steps.length === 0 || steps.includes("..") ? null : steps.join("/");
}
