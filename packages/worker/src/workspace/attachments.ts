import { ATTACHMENTS_FOLDER, AttachmentPaths } from "@outrider/agent/attachments";
import { Failure } from "@outrider/agent/failure";
import type { RunEvent, SentFile } from "@outrider/contract/event";
import type { DeliveredFollowup } from "@outrider/contract/worker";
import { sandboxPaths } from "../sandboxes/paths.ts";
import { type Sandbox, SandboxFileError } from "../sandboxes/sandbox.ts";
import type { ExecutionFiles } from "./execution-files.ts";

interface AttachmentsOptions {
  files: ExecutionFiles;
  /** Called only if there are attachments to write. */
  openSandbox(): Promise<Sandbox>;
}

/** Copies the files that users attach to their messages into the sandbox before the agent reads the messages. */
export class Attachments {
  readonly #options: AttachmentsOptions;
  readonly #paths = new AttachmentPaths();
  /** Maps attachment ids to paths, in the order in which the attachments were sent. */
  readonly #pathsById = new Map<string, string>();
  readonly #copied = new Set<string>();

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /** Copies all attachments that the event log lists. A warm sandbox already contains them; a new one does not. */
  async copyAll(history: readonly RunEvent[]): Promise<void> {
    for (const { type, data } of history) {
      if (type === "run.created" || type === "message.user") this.#assignPaths(data.attachments);
    }
    await this.#copyMissing();
  }

  async copyNew(followups: readonly DeliveredFollowup[]): Promise<void> {
    for (const { attachments } of followups) this.#assignPaths(attachments);
    await this.#copyMissing();
  }

  #assignPaths(files: readonly SentFile[] = []) {
    for (const { attachment_id: id, file_name } of files) {
      if (!this.#pathsById.has(id)) this.#pathsById.set(id, this.#paths.assign(file_name));
    }
  }

  async #copyMissing() {
    for (const [id, path] of this.#pathsById) {
      if (this.#copied.has(id)) continue;
      await this.#copy(id, path.replace(/^~/, sandboxPaths.home));
      this.#copied.add(id);
    }
  }

  /** Copies an attachment. Does not overwrite an existing file, because the agent may have changed it. */
  async #copy(id: string, path: string) {
    const sandbox = await this.#options.openSandbox();
    if (await exists(sandbox, path)) return;
    const data = await this.#options.files.readAttachment(id);
    await sandbox.write(path, Buffer.from(data)).catch((error) => {
      if (!(error instanceof SandboxFileError)) throw error;
      throw new Failure("sandbox_lost", `Cannot write to ${ATTACHMENTS_FOLDER}: ${error.message}`);
    });
  }
}

async function exists(sandbox: Sandbox, path: string): Promise<boolean> {
  return sandbox.read(path, 0).then(
    () => true,
    (error) => {
      if (error instanceof SandboxFileError) return error.code === "not_a_file";
      throw error;
    },
  );
}
