/**
 * Builds a Dockerfile with the builder that the worker's operator has chosen. The result is the same as that of
 * build-dockerfile.ts, but the commands run outside of sandboxes. What the builder cannot do is left to sandboxes.
 */
import { posix } from "node:path";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Failure } from "@outrider/agent/failure";
import type { ResolvedImage } from "@outrider/contract/image";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import type { OnStep, StepLog } from "../builds/step-runner.ts";
import { createTextRedactor, type Redactor } from "../redaction/redact.ts";
import {
  type BuiltImage,
  type DockerfileBuilder,
  DockerfileError,
  type Label,
  type SandboxImage,
} from "../sandboxes/sandbox.ts";
import { tarPadding } from "../tar-header.ts";
import { archiveHeader } from "./archive-header.ts";
import { Context } from "./context.ts";
import type { Instruction } from "./instructions.ts";
import { pinImages } from "./pin-images.ts";
import { contextFolder, type ResolvedDockerfile } from "./read.ts";

const TITLE_CHARACTERS = 200;
const TAIL_LINES = 20;
const TAIL_CHARACTERS = 4_000;

export interface OutsideBuildOptions {
  dockerfile: ResolvedDockerfile;
  builder: DockerfileBuilder;
  environment: Pick<AssignedEnvironment, "network" | "repos">;
  base: SandboxImage;
  label: Label;
  redactor: Redactor;
  log: StepLog;
  onStep: OnStep;
  pull(image: ResolvedImage): Promise<SandboxImage>;
}

/** Returns undefined, after a notice, if the file must be executed in sandboxes. */
export async function buildOutside(options: OutsideBuildOptions): Promise<BuiltImage | undefined> {
  const { dockerfile, log } = options;
  const { path, source, file } = { ...dockerfile, path: dockerfile.source.path };
  const { mirror, commit } = dockerfile.repository;
  const folder = contextFolder(source);
  const notice = (message: string) => log.write({ type: "notice", data: { message } });
  const context = await Context.open({ mirror, commit, folder, dockerfile: path, signal: log.signal });
  const inContext = posix.relative(folder, path);
  const text = pinImages(dockerfile);
  const reason = findObstacle(options, { isInContext: context.get(inContext) !== undefined });
  if (reason !== undefined || text === undefined) {
    notice(
      `${path} is executed in sandboxes, without BuildKit, because ${reason ?? "a line break divides the name of an image"}.`,
    );
    return undefined;
  }
  for (const message of file.notices) notice(message);
  for (const image of dockerfile.images.values())
    if (image.digest !== options.base.digest) await options.pull(image);
  const files = (await context.find(".")).filter(({ path }) => path !== inContext);
  const archive = new PassThrough();
  archive.write(archiveHeader({ path: inContext, size: Buffer.byteLength(text), mode: 0o644 }));
  archive.write(text);
  archive.write(tarPadding(Buffer.byteLength(text)));
  let sendError: unknown;
  const sending = context
    .archive(files, (content) => pipeline(content, archive))
    .catch((error) => {
      sendError = error;
      archive.destroy(error);
    });
  try {
    return await build(options, { context: archive, path: inContext });
  } catch (error) {
    log.signal.throwIfAborted();
    throw error instanceof Failure ? error : (sendError ?? error);
  } finally {
    archive.destroy();
    await sending;
  }
}

/** Returns why the file must be executed in sandboxes, as the end of a sentence. */
function findObstacle(
  { dockerfile, builder, environment }: OutsideBuildOptions,
  { isInContext }: { isInContext: boolean },
): string | undefined {
  const { stages } = dockerfile.file;
  const instructions = stages.flatMap((stage) => stage.instructions);
  const mounts = instructions.flatMap((each) => (each.type === "run" ? each.mounts : []));
  if (environment.network.mode === "allowlist") return "the environment's network is an allowlist";
  if (mounts.some(({ type }) => type === "secret")) return "it uses secrets";
  if (environment.repos[0]?.sparse_paths) return "the repository has `sparse_paths`";
  if (!isInContext) return "the file is not in its build context";
  if (!builder.knowsHeredocs && instructions.some(needsNewBuilder))
    return "the engine is too old for heredocs and `--link`";
  return undefined;
}

function needsNewBuilder(instruction: Instruction): boolean {
  if (instruction.type === "run") return instruction.hasHeredocs;
  return (
    instruction.type === "copy" && (instruction.files.length > 0 || instruction.title.includes(" --link "))
  );
}

async function build(
  { dockerfile, builder, environment, base, label, redactor, log, onStep }: OutsideBuildOptions,
  { context, path }: { context: PassThrough; path: string },
): Promise<BuiltImage> {
  const { target, args = {} } = dockerfile.source;
  const steps = new Map<
    string,
    { startedAt: number; tail: string; output: ReturnType<typeof createTextRedactor> }
  >();
  const write = (name: string, text: string) => {
    const step = steps.get(name);
    if (!step || text === "") return;
    step.tail = (step.tail + text).slice(-TAIL_CHARACTERS);
    log.write({ type: "output", data: { stream: "stdout", text } });
  };
  try {
    return await builder.build({
      ...{ context, path, target, base, label, signal: log.signal },
      // The others are for the builder itself.
      args: Object.fromEntries(Object.entries(args).filter(([name]) => !name.startsWith("BUILDKIT_"))),
      hasNetwork: environment.network.mode === "open",
      onStep({ name, state, cached }) {
        if (state === "started")
          steps.set(name, { startedAt: performance.now(), tail: "", output: createTextRedactor(redactor) });
        const step = steps.get(name);
        if (state !== "started" && step) write(name, step.output.end());
        if (cached) write(name, "The result is that of an earlier build.\n");
        const duration =
          state === "started" || !step ? {} : { duration_ms: performance.now() - step.startedAt };
        const title = name.length > TITLE_CHARACTERS ? `${name.slice(0, TITLE_CHARACTERS)}…` : name;
        log.write({ type: "step", data: { name: title, state, ...duration } });
        onStep(title, state);
      },
      onOutput: (name, data) => write(name, steps.get(name)?.output.push(data) ?? ""),
    });
  } catch (error) {
    log.signal.throwIfAborted();
    if (!(error instanceof DockerfileError)) throw error;
    throw explain(error, dockerfile, steps.get(error.step ?? "")?.tail ?? "");
  }
}

/** Images are named differently in the text that was built. */
const comparable = (title: string) =>
  title
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\bfrom=[^\s,]+/g, "from=")
    .trim();

/** Names the line of the instruction, as the builder's message does not. */
function explain(
  { step, message }: DockerfileError,
  { file, source }: ResolvedDockerfile,
  tail: string,
): Failure {
  const fail = (text: string) => new Failure("environment_setup_failed", text);
  const reason = message.replace(/\.$/, "");
  if (step === undefined) return fail(`${source.path}: ${reason}.`);
  const title = comparable(step.replace(/^\[[^\]]*\] /, ""));
  const instruction = file.stages
    .flatMap((stage) => stage.instructions)
    .find((each) => {
      const own = comparable(each.title);
      return own.endsWith("…") ? title.startsWith(own.slice(0, -1)) : title === own;
    });
  const place = instruction ? `${source.path} line ${instruction.line}` : source.path;
  const [, exitCode] = /exit code: (\d+)/.exec(message) ?? [];
  if (exitCode === undefined) return fail(`${place}: \`${instruction?.title ?? title}\`: ${reason}.`);
  const lines = tail.trimEnd().split("\n").slice(-TAIL_LINES).join("\n");
  return fail(
    `${place}: \`${instruction?.title ?? title}\` exited with code ${exitCode}.${lines ? ` Last lines of its output:\n${lines}` : ""}`,
  );
}
