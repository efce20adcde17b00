import type { Signals, WorkerInfo } from "@outrider/contract/worker";
import type { AssignedFileRequest } from "@outrider/contract/worker/assigned-file-request";
import type { FileRequestFinishRequest, FileRequestSignal } from "@outrider/contract/worker/run-file";
import type { BuildContext } from "../builds/build.ts";
import type { FreeSpace } from "../free-space.ts";
import type { Log } from "../log.ts";
import { Redactor } from "../redaction/redact.ts";
import { checkSecretSize, listRunSecrets } from "../run/run-secrets.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { LeaseLostError, type ServerClient } from "../server-client/server-client.ts";
import { RunFileError } from "./enter-script.ts";
import { listFolder } from "./list-folder.ts";
import { storeFile } from "./store-file.ts";
import { StoredFiles } from "./stored-files.ts";

/** The client waits no longer. */
const READ_MS = 15_000;
const FINISH_MS = 10_000;
const MAX_CONCURRENT = 8;
/** How much longer than a read a sandbox may run the script that reads. */
const DEADLINE_NS = 30_000_000_000n;

type Outcome = FileRequestFinishRequest["outcome"];

/** A run of this process. Its sandbox may not be open yet. */
export interface RunFilesOwner {
  sandbox: Sandbox | undefined;
  redactor: Redactor;
}

interface FileRequestReaderOptions {
  server: ServerClient;
  worker: WorkerInfo;
  builds: BuildContext;
  freeSpace: FreeSpace;
  /** The folder for files that are waiting to be uploaded. */
  folder: string;
  /** Returns the run if this process executes it or keeps its sandbox warm. */
  findRun(runId: string): RunFilesOwner | undefined;
  /** Whether this process opens stored files. Only one process of a worker does. */
  opensStored: boolean;
  /** Aborts when the worker must not start new work. */
  stopping: AbortSignal;
  log: Log;
}

/**
 * Takes requests for files from the server's signals. It reads the sandbox of a run that this process has, and otherwise the
 * stored files. This needs no slot, so users can look at files while all slots are in use.
 */
export class FileRequestReader {
  readonly #options: FileRequestReaderOptions;
  readonly #active = new Map<string, Promise<void>>();
  readonly #stored: StoredFiles;

  constructor(options: FileRequestReaderOptions) {
    this.#options = options;
    this.#stored = new StoredFiles(options);
  }

  handleSignals({ file_requests = [] }: Signals): void {
    for (const request of file_requests) {
      if (this.#active.size >= MAX_CONCURRENT) return;
      if (this.#active.has(request.request_id) || !this.#canTake(request)) continue;
      const work = this.#handle(request)
        .catch((error) => {
          if (!(error instanceof LeaseLostError))
            this.#options.log.warn({ error, run_id: request.run_id }, "failed to read files of a run");
        })
        .finally(() => this.#active.delete(request.request_id));
      this.#active.set(request.request_id, work);
    }
  }

  /** Resolves when nothing is being read and nothing is open. */
  async finished(): Promise<void> {
    await Promise.all(this.#active.values());
    await this.#stored.closeAll();
  }

  #canTake({ run_id, source }: FileRequestSignal): boolean {
    const { opensStored, stopping, findRun } = this.#options;
    return source === "sandbox" ? findRun(run_id) !== undefined : opensStored && !stopping.aborted;
  }

  async #handle({ request_id, run_id, source }: FileRequestSignal): Promise<void> {
    const { server, worker, stopping } = this.#options;
    const { worker_id } = worker;
    const take = { worker_id, source };
    const request = await server.takeFileRequest(request_id, take, AbortSignal.timeout(READ_MS));
    const outcome = request.stored
      ? await this.#readStored(request, stopping)
      : await this.#readSandbox(request, this.#options.findRun(run_id));
    await server.finishFileRequest(request_id, { worker_id, outcome }, AbortSignal.timeout(FINISH_MS));
  }

  async #readSandbox(request: AssignedFileRequest, owner: RunFilesOwner | undefined): Promise<Outcome> {
    const sandbox = owner?.sandbox;
    if (!owner || !sandbox) return { type: "abandoned" };
    try {
      // A warm sandbox has no lease that extends its deadline.
      sandbox.extendDeadline(process.hrtime.bigint() + DEADLINE_NS);
      return await this.#read(sandbox, request, owner.redactor);
    } catch (error) {
      // The sandbox may have been closed in the meantime. Its files are stored then.
      return error instanceof RunFileError ? toOutcome(error) : { type: "abandoned" };
    }
  }

  async #readStored(request: AssignedFileRequest, stopping: AbortSignal): Promise<Outcome> {
    const { stored } = request;
    if (!stored) return { type: "abandoned" };
    try {
      const secrets = listRunSecrets(stored);
      const tooManySecrets = checkSecretSize(secrets);
      if (tooManySecrets) throw new RunFileError("unavailable", tooManySecrets.message);
      const redactor = new Redactor(secrets);
      return await this.#stored.use(stored, (sandbox) => this.#read(sandbox, request, redactor), stopping);
    } catch (error) {
      if (error instanceof RunFileError) return toOutcome(error);
      if (stopping.aborted) return { type: "abandoned" };
      this.#options.log.warn({ error, run_id: request.run_id }, "failed to open the stored files of a run");
      return { type: "failed", reason: "unavailable" };
    }
  }

  async #read(sandbox: Sandbox, { kind, path }: AssignedFileRequest, redactor: Redactor): Promise<Outcome> {
    const { server, folder } = this.#options;
    const signal = AbortSignal.timeout(READ_MS);
    return kind === "list"
      ? { type: "listed", ...(await listFolder(sandbox, path, { redactor, signal })) }
      : { type: "read", ...(await storeFile(sandbox, path, { redactor, server, folder, signal })) };
  }
}

function toOutcome({ reason, message }: RunFileError): Outcome {
  return { type: "failed", reason, ...(reason === "unavailable" ? { message } : {}) };
}
