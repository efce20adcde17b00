/** Saves content that is already in memory as a file. */
export function download(content: Blob, name: string) {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The URL is revoked after a delay, when the browser has read the content.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
