import { ATTACHMENTS_FOLDER, AttachmentPaths } from "@outrider/agent/attachments";
import { Failure } from "@outrider/agent/failure";
import type { RunEvent, SentFile } from "@outrider/contract/event";
import type { DeliveredFollowup } from "@outrider/contract/worker";
import type { Files } from "./files.ts";
import { own } from "./sandboxes/bubblewrap.ts";
import { type Sandbox, SandboxFileError } from "./sandboxes/sandbox.ts";

interface AttachmentsOptions {
  files: Files;
  /** Where they are written to; opened only if there are any. */
  open(): Promise<Sandbox>;
}

/** Puts what people sent with their messages into the sandbox, before the agent reads of it. */
export class Attachments {
  private readonly options: AttachmentsOptions;
  private readonly paths = new AttachmentPaths();
  /** By id, in the order in which they were sent. */
  private readonly known = new Map<string, string>();
  private readonly placed = new Set<string>();

  constructor(options: AttachmentsOptions) {
    this.options = options;
  }

  /** Whatever the log names. A sandbox that was lost has none of it, one that was kept has all. */
  async placeAll(history: readonly RunEvent[]): Promise<void> {
    for (const { type, data } of history) {
      if (type === "run.created" || type === "message.user") this.note(data.attachments);
    }
    await this.place();
  }

  async placeNew(followups: readonly DeliveredFollowup[]): Promise<void> {
    for (const { attachments } of followups) this.note(attachments);
    await this.place();
  }

  private note(files: readonly SentFile[] = []) {
    for (const { attachment_id: id, file_name } of files) {
      if (!this.known.has(id)) this.known.set(id, this.paths.place(file_name));
    }
  }

  private async place() {
    for (const [id, path] of this.known) {
      if (this.placed.has(id)) continue;
      await this.write(id, path.replace(/^~/, own.home));
      this.placed.add(id);
    }
  }

  /** What is there stays as it is: the agent may have worked on it. */
  private async write(id: string, path: string) {
    const sandbox = await this.options.open();
    if (await isThere(sandbox, path)) return;
    const data = await this.options.files.attachment(id);
    await sandbox.write(path, Buffer.from(data)).catch((error) => {
      if (!(error instanceof SandboxFileError)) throw error;
      throw new Failure("sandbox_lost", `${ATTACHMENTS_FOLDER} cannot be filled: ${error.message}`);
    });
  }
}

async function isThere(sandbox: Sandbox, path: string): Promise<boolean> {
  return sandbox.read(path, 0).then(
    () => true,
    (error) => {
      if (error instanceof SandboxFileError) return error.code === "not_a_file";
      throw error;
    },
  );
}
