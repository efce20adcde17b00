/**
 * A shell lets the user who maintains an environment look into its sandbox.
 *
 * 1. If the environment's latest build is ready, the worker opens a sandbox on it. Otherwise it runs the steps of the build
 *    again, up to the first one that fails, and shows their output.
 * 2. It starts a shell in the folder of the setup commands, with their variables, build secrets and user.
 * 3. It connects the shell with the client (see shell-channel.ts) until the shell exits, or until the server closes it or
 *    the lease is lost. The sandbox's deadline follows the lease, as it does for builds.
 * 4. It deletes the sandbox. Nothing is stored.
 */
import { once } from "node:events";
import type { ReadyBuild } from "@outrider/contract/worker/build";
import type { ShellAssignment } from "@outrider/contract/worker/shell";
import { type BuildContext, makeBuild, resolveContents } from "../builds/build.ts";
import { addForgeCredentials } from "../builds/forge-credentials.ts";
import { ensureImage } from "../builds/images.ts";
import type { StepContext } from "../builds/step-runner.ts";
import { networkBundles, writeHomeFiles } from "../egress/sandbox-files.ts";
import { quote } from "../quote.ts";
import { Redactor } from "../redaction/redact.ts";
import { checkSecretSize, listEnvironmentSecrets } from "../run/run-secrets.ts";
import type { Sandbox, Spawned } from "../sandboxes/sandbox.ts";
import { sendRedacted } from "./redacted-output.ts";
import { ShellChannel } from "./shell-channel.ts";

interface RunShellOptions {
  assignment: ShellAssignment;
  /** The time at which the lease starts. */
  leaseStart: bigint;
  /** Aborts when the worker shuts down. */
  drain: AbortSignal;
}

/** Opens a shell and serves it until it ends. */
export async function runShell(
  context: BuildContext,
  { assignment, leaseStart, drain }: RunShellOptions,
): Promise<void> {
  const { environment, build } = assignment;
  const secrets = listEnvironmentSecrets(environment);
  const tooLarge = checkSecretSize(secrets);
  const redactor = new Redactor(tooLarge ? [] : secrets);
  const sandboxes: Sandbox[] = [];
  const channel = new ShellChannel({
    ...{ server: context.server, assignment, leaseStart, redactor, signal: drain },
    onExtended: (deadline) => {
      for (const sandbox of sandboxes) sandbox.extendDeadline(deadline);
    },
  });
  const onOpened = (opened: Sandbox) => {
    sandboxes.push(opened);
  };
  const shell = new ShellSession({ assignment, channel, redactor });
  try {
    if (tooLarge) throw tooLarge;
    if (build) await openOnBuild(context, { assignment, build, channel, shell, onOpened });
    else await openOnSteps(context, { assignment, channel, redactor, shell, onOpened });
  } catch (error) {
    if (!channel.signal.aborted && !shell.hasEnded)
      await channel.finish({ message: `The sandbox cannot be opened: ${(error as Error).message}` });
  } finally {
    channel.stop();
    await Promise.all(sandboxes.map((sandbox) => sandbox.close().catch(() => {})));
    if (drain.aborted && !shell.hasEnded)
      await channel.finish({ message: "The worker is shutting down. Open a new shell." }).catch(() => {});
  }
}

interface OpenOptions {
  assignment: ShellAssignment;
  channel: ShellChannel;
  shell: ShellSession;
  onOpened(sandbox: Sandbox): void;
}

/** Opens the shell on a finished build. */
async function openOnBuild(
  { provider, bases, egressSessions, networkFolder }: BuildContext,
  { assignment, build, channel, shell, onOpened }: OpenOptions & { build: ReadyBuild },
): Promise<void> {
  const { environment, shell_id } = assignment;
  const { signal } = channel;
  const { network, git_host, resources, variables, build_secrets } = environment;
  const { devcontainer, repositories } = build;
  const onProgress = (message: string) => channel.emit({ type: "notice", data: { message } });
  const image =
    build.image &&
    (await ensureImage(provider, build.image, { environment, devcontainer, signal, onProgress }));
  const base = await bases.ensure(build, image, signal);
  const session = { ...network, git_host, osRelease: image?.osRelease };
  const egress = await egressSessions.open(session, ({ message }) =>
    channel.emit({ type: "notice", data: { message } }),
  );
  try {
    const sandbox = await provider.open({
      ...{ id: `shell-${shell_id}`, deadline: channel.deadline, label: { shell_id }, base },
      ...(image ? { image } : {}),
      bundles: networkBundles(egress.inside, networkFolder),
      ...(resources ? { limits: resources } : {}),
      ...egress.option,
    });
    onOpened(sandbox);
    await writeHomeFiles(sandbox, egress.inside);
    const [only] = repositories.length === 1 ? repositories : [];
    await shell.run(sandbox, {
      folder: only ? `/workspace/${only.path}` : image?.workingFolder,
      env: { ...sandbox.commandEnvironment, ...egress.inside.environment, ...variables, ...build_secrets },
      asRoot: true,
    });
    await sandbox.close();
  } finally {
    await egress.close();
  }
}

/** Runs the steps of the build again and opens the shell at the first one that fails, or after the last one. */
async function openOnSteps(
  context: BuildContext,
  { assignment, channel, redactor, shell, onOpened }: OpenOptions & { redactor: Redactor },
): Promise<void> {
  const { environment, shell_id } = assignment;
  const emitNotice = (message: string) => channel.emit({ type: "notice", data: { message } });
  const holder = { type: "shell", shell_id, token: assignment.token } as const;
  await addForgeCredentials(environment, { ...context, holder, redactor, signal: channel.signal });
  const contents = await resolveContents(context, environment, { signal: channel.signal, emitNotice });
  const outcome = await makeBuild(context, {
    ...{
      build_id: shell_id,
      token: assignment.token,
      environment,
      contents,
      log: channel,
      redactor,
      onOpened,
    },
    onStep: () => {},
    inspect: (sandbox, place) => shell.run(sandbox, place),
  });
  if (outcome.type === "failed" && !shell.hasEnded)
    await channel.finish({ message: `The build fails before a shell can be opened: ${outcome.message}` });
}

/** The shell's process and its streams. */
class ShellSession {
  readonly #options: { assignment: ShellAssignment; channel: ShellChannel; redactor: Redactor };
  /** Whether the shell has exited and its end is reported. */
  hasEnded = false;

  constructor(options: { assignment: ShellAssignment; channel: ShellChannel; redactor: Redactor }) {
    this.#options = options;
  }

  /** Starts the shell and serves it until it exits. Rejects if it is killed. */
  async run(sandbox: Sandbox, { step, folder, env, asRoot }: StepContext): Promise<void> {
    const { assignment, channel, redactor } = this.#options;
    const { terminal } = assignment;
    const enter = folder === undefined ? "" : `cd ${quote(folder)} 2> /dev/null; `;
    const process = await sandbox.spawn(`${enter}exec "$SHELL"${terminal ? " -i" : ""}`, {
      ...{ signal: channel.signal, asRoot },
      env: { ...env, ...(terminal ? { TERM: "xterm-256color" } : {}) },
      ...(terminal ? { terminal } : {}),
    });
    channel.emit({ type: "opened", data: step === undefined ? {} : { failed_step: step } });
    void this.#serveInput(process).catch(() => {});
    const output = (["stdout", "stderr"] as const).map((stream) =>
      sendRedacted({
        ...{ source: process[stream], redactor },
        send: (bytes) => channel.sendOutput(stream, bytes),
        room: () => channel.room(),
      }).catch(() => {}),
    );
    const [{ exitCode }] = await Promise.all([process.ended, ...output]);
    channel.signal.throwIfAborted();
    this.hasEnded = true;
    await channel.finish(exitCode === null ? { message: "The shell was killed." } : { exit_code: exitCode });
  }

  async #serveInput({ stdin, resize }: Spawned): Promise<void> {
    const { channel } = this.#options;
    stdin.on("error", () => {});
    for await (const { data, terminal, ends_input } of channel.input()) {
      if (terminal) resize(terminal);
      if (data && !stdin.write(Buffer.from(data, "base64")) && !stdin.destroyed)
        await once(stdin, "drain", { signal: channel.signal });
      if (ends_input) stdin.end();
    }
  }
}
