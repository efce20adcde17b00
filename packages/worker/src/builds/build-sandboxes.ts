import { randomUUID } from "node:crypto";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import type { EgressSession, EgressSessions } from "../egress/egress-session.ts";
import type { RefusalSummary } from "../egress/refusal-summary.ts";
import { networkBundles, type SandboxNetworkFiles } from "../egress/sandbox-files.ts";
import type { Sandbox, SandboxImage, SandboxProvider } from "../sandboxes/sandbox.ts";
import type { StepLog } from "./step-runner.ts";

interface BuildSandboxesOptions {
  buildId: string;
  environment: AssignedEnvironment;
  provider: SandboxProvider;
  egressSessions: EgressSessions;
  /** The folder for files that sandboxes mount for their network. */
  networkFolder: string;
  log: StepLog;
  refusals: RefusalSummary;
  onOpened(sandbox: Sandbox): void;
}

/** The sandboxes of one build. A Dockerfile with several stages needs several, each with the network of its system. */
export class BuildSandboxes {
  readonly #options: BuildSandboxesOptions;
  readonly #sessions = new Map<string, Promise<EgressSession>>();
  readonly #open = new Map<Sandbox, EgressSession>();

  constructor(options: BuildSandboxesOptions) {
    this.#options = options;
  }

  /** Opens a sandbox, over an image if there is one. */
  async open(image: SandboxImage | undefined): Promise<Sandbox> {
    const { buildId, environment, provider, networkFolder, log, onOpened } = this.#options;
    const { resources } = environment;
    const egress = await this.#session(image);
    const sandbox = await provider.open({
      ...(image ? { image } : {}),
      // Not named after the build: if this worker lost the build's lease and claims it again, the first sandbox may
      // still be open.
      id: `build-${randomUUID()}`,
      deadline: log.deadline,
      label: { build_id: buildId },
      bundles: networkBundles(egress.inside, networkFolder),
      ...(resources ? { limits: resources } : {}),
      ...egress.option,
    });
    this.#open.set(sandbox, egress);
    onOpened(sandbox);
    return sandbox;
  }

  /** Returns what a sandbox needs inside for its network. */
  network(sandbox: Sandbox): SandboxNetworkFiles {
    return (this.#open.get(sandbox) as EgressSession).inside;
  }

  async close(sandbox: Sandbox): Promise<void> {
    await sandbox.close();
    this.#open.delete(sandbox);
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((sandbox) => sandbox.close().catch(() => {})));
    const sessions = await Promise.allSettled(this.#sessions.values());
    for (const session of sessions) if (session.status === "fulfilled") await session.value.close();
  }

  #session(image: SandboxImage | undefined): Promise<EgressSession> {
    const { environment, egressSessions, refusals, log } = this.#options;
    const { network, git_host } = environment;
    const osRelease = image?.osRelease;
    const key = osRelease ?? "";
    const session =
      this.#sessions.get(key) ??
      egressSessions.open({ ...network, git_host, osRelease }, (notice) => {
        refusals.add(notice);
        log.write({ type: "notice", data: { message: notice.message } });
      });
    this.#sessions.set(key, session);
    return session;
  }
}
