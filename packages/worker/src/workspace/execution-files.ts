import { createHash, randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunFiles } from "@outrider/agent/files";
import type { Redactor } from "../redaction/redact.ts";
import type { Reporter } from "../run/reporter.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import type { StoredFile } from "./command-output-file.ts";

interface ExecutionFilesOptions {
  server: ServerClient;
  reporter: Reporter;
  redactor: Redactor;
  /** The folder for files that are waiting to be uploaded. */
  folder: string;
  signal: AbortSignal;
  executionId: string;
}

/** Stores a run's artifacts and reads its artifacts and attachments. */
export class ExecutionFiles implements RunFiles {
  readonly #options: ExecutionFilesOptions;

  constructor(options: ExecutionFilesOptions) {
    this.#options = options;
  }

  /** Uploads a file from the worker's disk as one of the run's artifacts and returns its id. */
  async storeFile(
    { path, sha256, size_bytes }: StoredFile,
    { name, mime_type }: { name: string; mime_type: string },
  ): Promise<string> {
    const { server, reporter, signal } = this.#options;
    await server.putBlob(path, sha256, signal);
    const artifact_id = randomUUID();
    const artifact = { artifact_id, type: "FILE" as const, name, mime_type, size_bytes, sha256 };
    await reporter.flush({ artifacts: [artifact] });
    return artifact_id;
  }

  /** Stores an image that a tool returned. */
  async storeArtifact(image: { name: string; mime_type: string; data: Uint8Array }) {
    const { name, mime_type } = image;
    const { folder, redactor } = this.#options;
    const data = redactor.redactBytes(image.data);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${randomUUID()}.part`);
    try {
      await writeFile(path, data, { mode: 0o600 });
      const sha256 = createHash("sha256").update(data).digest("hex");
      return await this.storeFile({ path, sha256, size_bytes: data.byteLength }, { name, mime_type });
    } finally {
      await rm(path, { force: true });
    }
  }

  async readArtifact(artifact_id: string): Promise<Uint8Array> {
    const { server, executionId, signal } = this.#options;
    return server.file(executionId, `artifacts/${artifact_id}`, signal);
  }

  async readAttachment(attachment_id: string): Promise<Uint8Array> {
    const { server, executionId, signal } = this.#options;
    return server.file(executionId, `attachments/${attachment_id}`, signal);
  }
}
