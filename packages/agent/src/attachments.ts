/** Where a run's attachments lie in its sandbox: outside of the workspace, whose changes are the agent's. */
export const ATTACHMENTS_FOLDER = "~/attachments";

/**
 * Which path each gets, in the order in which they were sent. A name that an earlier one has taken gets a number before its
 * extension. Letters of either case count as the same: some file systems see no difference, and people overlook it.
 */
export class AttachmentPaths {
  private readonly taken = new Set<string>();

  place(file_name: string): string {
    let name = fitting(file_name);
    for (let number = 2; this.taken.has(name.toLowerCase()); number++)
      name = fitting(file_name, `-${number}`);
    this.taken.add(name.toLowerCase());
    return `${ATTACHMENTS_FOLDER}/${name}`;
  }
}

/** What a file system takes for one name, in bytes. */
const NAME_BYTES = 255;

/** The mark goes before the extension; what is too long loses the end of its stem. */
function fitting(name: string, mark = ""): string {
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= 32 ? name.slice(dot) : "";
  const stem = [...name.slice(0, name.length - extension.length)];
  while (Buffer.byteLength(stem.join("") + mark + extension) > NAME_BYTES) stem.pop();
  return stem.join("") + mark + extension;
}
