import { createHash, randomUUID } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunFiles } from "@outrider/agent/files";
import type { KeptFile } from "./output-file.ts";
import type { Reporter } from "./report.ts";
import type { Server } from "./server.ts";

interface FilesOptions {
  server: Server;
  reporter: Reporter;
  /** Where a file waits to be sent. */
  folder: string;
  signal: AbortSignal;
  executionId: string;
}

/** What an execution stores beside its workspace, and reads again. */
export class Files implements RunFiles {
  private readonly options: FilesOptions;

  constructor(options: FilesOptions) {
    this.options = options;
  }

  /** Stores a file of this machine as an artifact of the run; answers its id. */
  async keepFile(
    { path, sha256, size_bytes }: KeptFile,
    { name, mime_type }: { name: string; mime_type: string },
  ): Promise<string> {
    const { server, reporter, signal } = this.options;
    await server.putBlob(path, sha256, signal);
    const artifact_id = randomUUID();
    const artifact = { artifact_id, type: "FILE" as const, name, mime_type, size_bytes, sha256 };
    await reporter.flush({ artifacts: [artifact] });
    return artifact_id;
  }

  async keep({ name, mime_type, data }: { name: string; mime_type: string; data: Uint8Array }) {
    const { folder } = this.options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${randomUUID()}.part`);
    try {
      await writeFile(path, data, { mode: 0o600 });
      const sha256 = createHash("sha256").update(data).digest("hex");
      return await this.keepFile({ path, sha256, size_bytes: data.byteLength }, { name, mime_type });
    } finally {
      await rm(path, { force: true });
    }
  }

  async artifact(artifact_id: string): Promise<Uint8Array> {
    const { server, executionId, signal } = this.options;
    return server.file(executionId, `artifacts/${artifact_id}`, signal);
  }

  async attachment(attachment_id: string): Promise<Uint8Array> {
    const { server, executionId, signal } = this.options;
    return server.file(executionId, `attachments/${attachment_id}`, signal);
  }
}
