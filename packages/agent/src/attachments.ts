/** Where attachments lie in a run's sandbox: beside the workspace, so that they are no part of what it changes. */
export const ATTACHMENTS_FOLDER = "~/attachments";

/** Gives each attachment of a run its path, in the order in which they came. */
export class AttachmentPaths {
  private readonly taken = new Set<string>();

  place(fileName: string): string {
    return `${ATTACHMENTS_FOLDER}/${this.nameFor(fileName)}`;
  }

  /** The second of a name gets `-2` before its extension. */
  private nameFor(fileName: string): string {
    const dot = fileName.lastIndexOf(".");
    const [stem, extension] = dot > 0 ? [fileName.slice(0, dot), fileName.slice(dot)] : [fileName, ""];
    let name = fileName;
    for (let count = 2; this.taken.has(name); count += 1) name = `${stem}-${count}${extension}`;
    this.taken.add(name);
    return name;
  }
}
