/**
 * The folder that contains a run's attachments. It is outside the workspace because every change in the workspace is
 * attributed to the agent.
 */
export const ATTACHMENTS_FOLDER = "~/attachments";

/**
 * Assigns a path to each attachment, in the order in which the attachments were sent. A name that is already taken gets
 * a number before its extension. Names are compared case-insensitively because some file systems ignore case.
 */
export class AttachmentPaths {
  readonly #taken = new Set<string>();

  assign(file_name: string): string {
    let name = truncateName(file_name);
    for (let number = 2; this.#taken.has(name.toLowerCase()); number++)
      name = truncateName(file_name, `-${number}`);
    this.#taken.add(name.toLowerCase());
    return `${ATTACHMENTS_FOLDER}/${name}`;
  }
}

/** File systems limit file names to this many bytes. */
const MAX_NAME_BYTES = 255;

/** Inserts the suffix before the extension and shortens the stem if the name is too long. */
function truncateName(name: string, suffix = ""): string {
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= 32 ? name.slice(dot) : "";
  const stem = [...name.slice(0, name.length - extension.length)];
  while (Buffer.byteLength(stem.join("") + suffix + extension) > MAX_NAME_BYTES) stem.pop();
  return stem.join("") + suffix + extension;
}
