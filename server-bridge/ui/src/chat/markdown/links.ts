/** Which addresses of a text of a model's may be followed. */
const FOLLOWED = ["http:", "https:", "mailto:"];

/** The address if it may be followed, else nothing: a script, a file or a way within this page. */
export function safeAddress(address: string | undefined): string {
  try {
    return FOLLOWED.includes(new URL(address ?? "").protocol) ? (address ?? "") : "";
  } catch {
    return "";
  }
}
