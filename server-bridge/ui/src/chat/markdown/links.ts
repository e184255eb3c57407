/** Which addresses of a text of a model's may be followed. Pure. */
const FOLLOWED = ["http:", "https:", "mailto:"];

/** Stands before a path of the workspace; no address that a model writes keeps it. */
const FILE = "sandbridge-file:";

/** The longest path that systems take. */
const PATH_MAX_CHARS = 4096;

/** The address if it may be followed, a marked path if it names a file, else nothing: a script or a way within this page. */
export function safeAddress(address: string | undefined): string {
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
  // A line's number, as in `main.rs:12` or `main.rs:12:5`, is no scheme's rest.
  const bare = address.replace(/[#?].*$/s, "").replace(/(?::\d+){1,2}$/, "");
  if (bare === "" || bare.length > PATH_MAX_CHARS || /^[\\/]|:|\\/.test(bare)) return null;
  let path: string;
  try {
    path = decodeURIComponent(bare);
  } catch {
    return null;
  }
  // Also what was written as %0a or %2f.
  if (/[\u0000-\u001f\u007f\\:]|^\//.test(path)) return null;
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  return steps.length === 0 || steps.includes("..") ? null : steps.join("/");
}
