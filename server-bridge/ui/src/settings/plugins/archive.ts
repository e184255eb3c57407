/** An archive of a plugin that is read in the browser. */

/** The content of a file in base64. A file that changed since it was chosen cannot be read. */
export function base64Of(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error);
    // The reader writes `data:TYPE;base64,CONTENT`.
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,?/, ""));
    reader.readAsDataURL(file);
  });
}

/** The name that an archive gives to a plugin that has none, as on the command line: the file name up to the first dot. */
export function nameOf(fileName: string): string {
  return fileName.split(".")[0] ?? "";
}
