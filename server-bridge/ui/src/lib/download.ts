/** Downloads what an address of this server gives as a file. */
export function download(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}
