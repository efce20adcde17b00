/**
 * Executes a Dockerfile in ordinary sandboxes, with the environment's network and limits. Each stage has a sandbox over its
 * base image. A stage that is based on another one continues in its sandbox, or in a copy if others need the first one too.
 * The sandbox of the last stage becomes the build's.
 */
import { Failure } from "@outrider/agent/failure";
import type { ResolvedImage } from "@outrider/contract/image";
import type { StepRunner } from "../builds/step-runner.ts";
import { quote } from "../quote.ts";
import type { Sandbox, SandboxImage } from "../sandboxes/sandbox.ts";
import { tarEnd, tarPadding } from "../tar-header.ts";
import { archiveHeader } from "./archive-header.ts";
import { type ArchivedFile, Context } from "./context.ts";
import { FileCopier } from "./file-copier.ts";
import type { CopyInstruction, Instruction, RunInstruction } from "./instructions.ts";
import type { RunMount } from "./mounts.ts";
import type { Source, Stage } from "./parse.ts";
import { contextFolder, type ResolvedDockerfile } from "./read.ts";
import { InstructionError } from "./split-instructions.ts";
import { StageState } from "./stage-state.ts";

const MAX_SCRIPT_BYTES = 96 * 1024;
const scriptPath = "/tmp/outrider-run-script";

/** What the name of an archive says about the program that unpacks it. Other files are copied as they are. */
const archives: [name: RegExp, command: string][] = [
  [/\.tar$/i, "exec cat"],
  [/\.(tar\.gz|tgz)$/i, "exec gzip -dc"],
  [/\.(tar\.bz2|tbz2?)$/i, "exec bzip2 -dc"],
  [/\.(tar\.xz|txz)$/i, "exec xz -dc"],
  [/\.(tar\.zst|tzst)$/i, "exec zstd -dc"],
];

export interface DockerfileBuildOptions {
  dockerfile: ResolvedDockerfile;
  /** The path of the program sandbox-copy in sandboxes. */
  copyProgram: string;
  /** Values for `RUN --mount=type=secret`, by id. */
  secrets: Record<string, string>;
  signal: AbortSignal;
  pull(image: ResolvedImage): Promise<SandboxImage>;
  /** Opens a sandbox over an image. */
  open(image: SandboxImage): Promise<Sandbox>;
  /** Copies what a sandbox changed to another one, which is over the same image and has run no command. */
  copyChanges(from: Sandbox, to: Sandbox): Promise<void>;
  /** Called before the first instruction in a sandbox. */
  prepare(sandbox: Sandbox): Promise<void>;
  close(sandbox: Sandbox): Promise<void>;
  createRunner(sandbox: Sandbox): StepRunner;
  emitNotice(message: string): void;
}

export interface BuiltStage {
  sandbox: Sandbox;
  /** The base image, with the variables, folder and user of the stage. */
  image: SandboxImage;
}

export async function buildDockerfile(options: DockerfileBuildOptions): Promise<BuiltStage> {
  return await new DockerfileBuild(options).run();
}

interface OpenStage extends BuiltStage {
  state: StageState;
}

class DockerfileBuild {
  readonly #options: DockerfileBuildOptions;
  readonly #copier: FileCopier;
  readonly #stages = new Map<number, OpenStage>();
  readonly #images = new Map<string, Promise<SandboxImage>>();
  #context: Promise<Context> | undefined;

  constructor(options: DockerfileBuildOptions) {
    this.#options = options;
    this.#copier = new FileCopier(options.copyProgram, options.signal);
  }

  async run(): Promise<BuiltStage> {
    const { file } = this.#options.dockerfile;
    for (const notice of file.notices) this.#options.emitNotice(notice);
    let last: OpenStage | undefined;
    for (const stage of file.stages) {
      last = await this.#buildStage(stage);
      this.#stages.set(stage.index, last);
      for (const [index, { sandbox }] of this.#stages) {
        if (this.#isNeededAfter(index, stage.index) || sandbox === last.sandbox) continue;
        this.#stages.delete(index);
        await this.#options.close(sandbox);
      }
    }
    const { sandbox, image, state } = last as OpenStage;
    const { env, user, workingFolder } = state;
    return { sandbox, image: { ...image, env, user, workingFolder } };
  }

  #isNeededAfter(index: number, current: number): boolean {
    return this.#options.dockerfile.file.stages.some(
      (stage) =>
        stage.index > current &&
        [stage.base, ...stage.sources.values()].some((source) => "stage" in source && source.stage === index),
    );
  }

  async #buildStage(stage: Stage): Promise<OpenStage> {
    const { createRunner } = this.#options;
    const opened = await this.#openStage(stage);
    const runner = createRunner(opened.sandbox);
    const execution = { stage, ...opened, runner, caches: new Set<string>() };
    for (const instruction of stage.instructions) {
      try {
        await this.#execute(instruction, execution);
      } catch (error) {
        throw this.#explain(error, instruction);
      }
    }
    for (const folder of execution.caches) await this.#copier.clear(opened.sandbox, folder);
    return opened;
  }

  #explain(error: unknown, { line, title }: Instruction): unknown {
    this.#options.signal.throwIfAborted();
    if (error instanceof Failure) return error;
    const { path } = this.#options.dockerfile.file;
    const [name = ""] = title.split(" ");
    const place = `${path} line ${error instanceof InstructionError ? error.line : line}`;
    return new Failure("environment_setup_failed", `${place}: ${name}: ${(error as Error).message}`);
  }

  async #openStage(stage: Stage): Promise<OpenStage> {
    const { dockerfile, open, copyChanges, prepare } = this.#options;
    const { file } = dockerfile;
    if ("image" in stage.base) {
      const image = await this.#pull(stage.base.image);
      if (image.onBuild !== undefined)
        throw new Failure(
          "environment_setup_failed",
          `${file.path} line ${stage.line}: FROM: The image has the instruction ONBUILD ${image.onBuild}, which is not supported: use an image without it, and write the instruction into the Dockerfile.`,
        );
      const sandbox = await open(asRoot(image));
      await prepare(sandbox);
      return { sandbox, image, state: new StageState(file, image) };
    }
    const index = stage.base.stage;
    const parent = this.#stages.get(index) as OpenStage;
    const state = new StageState(file, parent.state);
    if (!this.#isNeededAfter(index, stage.index) && !copiesFrom(stage, index)) {
      this.#stages.delete(index);
      return { ...parent, state };
    }
    await parent.sandbox.kill();
    const sandbox = await open(asRoot(parent.image));
    await copyChanges(parent.sandbox, sandbox);
    return { sandbox, image: parent.image, state };
  }

  #pull(reference: string): Promise<SandboxImage> {
    const { dockerfile, pull } = this.#options;
    const pulling = this.#images.get(reference) ?? pull(dockerfile.images.get(reference) as ResolvedImage);
    this.#images.set(reference, pulling);
    return pulling;
  }

  async #execute(instruction: Instruction, execution: Execution): Promise<void> {
    const { state, sandbox, runner } = execution;
    if (instruction.type === "run") return await this.#run(instruction, execution);
    if (instruction.type === "copy")
      return await runner.perform(instruction.title, () => this.#copy(instruction, execution));
    if (instruction.type !== "workdir") return state.apply(instruction);
    state.workingFolder = state.resolve(state.expand(instruction.value)).replace(/(?<=.)\/$/, "");
    await this.#copier.makeFolder(sandbox, state.workingFolder, { owner: ownerOf(state.user) });
  }

  async #run(instruction: RunInstruction, execution: Execution): Promise<void> {
    const { state, sandbox, runner } = execution;
    const { path } = this.#options.dockerfile.file;
    const mounted = await this.#mount(instruction.mounts, execution);
    const command = await this.#commandOf(instruction, execution);
    // The folder may come from the image's configuration.
    await this.#copier.makeFolder(sandbox, state.workingFolder);
    await runner.run(instruction.title, command, {
      env: { ...state.commandVariables, ...mounted.env },
      folder: state.workingFolder,
      place: `${path} line ${instruction.line}`,
      ...(isRoot(state.user) ? { asRoot: true } : { user: state.user }),
    });
    // As in Docker, nothing that an instruction starts outlives it.
    await sandbox.kill();
    for (const file of mounted.files) await sandbox.remove(file);
    for (const folder of mounted.folders) await this.#copier.clear(sandbox, folder);
  }

  async #commandOf({ command }: RunInstruction, { state, sandbox }: Execution): Promise<string> {
    if (Array.isArray(command)) return `exec ${command.map(quote).join(" ")}`;
    const { script } = command;
    const [, interpreter] = /^#!\s*(\S.*)/.exec(script) ?? [];
    const line = `exec ${[...state.shell, script].map(quote).join(" ")}`;
    if (interpreter === undefined) {
      if (Buffer.byteLength(line) > MAX_SCRIPT_BYTES)
        throw new Error("The command is longer than 96 KiB: copy it as a script.");
      return line;
    }
    await sandbox.write(scriptPath, Buffer.from(script), { asRoot: true });
    const words = interpreter.trim().split(/\s+/).map(quote).join(" ");
    return `${words} ${scriptPath}; code=$?; rm -f ${scriptPath}; exit $code`;
  }

  /** Creates what exists only during an instruction. */
  async #mount(mounts: RunMount[], execution: Execution) {
    const { state, sandbox, caches } = execution;
    const [files, folders]: [string[], string[]] = [[], []];
    const env: Record<string, string> = {};
    for (const mount of mounts) {
      if (mount.type === "secret") {
        const value = this.#secretOf(mount);
        if (value === undefined) continue;
        if (mount.env !== undefined) env[mount.env] = value;
        if (mount.target === undefined) continue;
        const path = state.resolve(state.expand(mount.target));
        await sandbox.write(path, Buffer.from(value), { asRoot: true });
        files.push(path);
        await this.#copier.setAttributes(sandbox, path, { owner: mount.owner, mode: mount.mode ?? "0400" });
        continue;
      }
      const path = state.resolve(state.expand(mount.target));
      if (mount.type === "bind") {
        await this.#copier.requireVacant(sandbox, path.replace(/(?<=.)\/$/, ""));
        folders.push(path);
        await this.#copyFiles(
          { ...mount, sources: [state.expand(mount.source ?? ".")] },
          { target: path },
          execution,
        );
        continue;
      }
      await this.#copier.makeFolder(sandbox, path, mount);
      if (mount.type === "cache") caches.add(path);
      else folders.push(path);
    }
    return { files, folders, env };
  }

  #secretOf({ id, isRequired }: Extract<RunMount, { type: "secret" }>): string | undefined {
    const { secrets, emitNotice, dockerfile } = this.#options;
    if (Object.hasOwn(secrets, id)) return secrets[id];
    const missing = `The secret ${id.slice(0, 100)} is not in \`build_secrets\``;
    if (isRequired) throw new Error(`${missing}: add it.`);
    emitNotice(`${dockerfile.file.path}: ${missing}, so RUN does not get it.`);
    return undefined;
  }

  async #copy(instruction: CopyInstruction, execution: Execution): Promise<void> {
    const { state, sandbox } = execution;
    const target = state.resolve(state.expand(instruction.target));
    const owner = instruction.owner && ownerOf(state.expand(instruction.owner));
    const mode = instruction.mode && state.expand(instruction.mode);
    const options = { target, owner, mode };
    const sources = instruction.sources.map((source) => state.expand(source));
    if (instruction.files.length > 0) {
      const files = instruction.files.map(({ name, content, expands }) => ({
        ...{ name, content: Buffer.from(expands ? state.expandContent(content) : content) },
      }));
      await this.#copier.unpack(sandbox, { archive: archiveOf(files), ...options });
    }
    if (sources.length > 0) await this.#copyFiles({ ...instruction, sources }, options, execution);
  }

  /** Copies files of the context, of another stage or of an image. */
  async #copyFiles(
    { sources, from, unpacks = false }: { sources: string[]; from: string | undefined; unpacks?: boolean },
    options: { target: string; owner?: string | undefined; mode?: string | undefined },
    execution: Execution,
  ): Promise<void> {
    const { sandbox, stage } = execution;
    if (from !== undefined) {
      const source = await this.#openSource(stage.sources.get(from) as Source);
      const patterns = sources.map((each) => `/${each.replace(/^\/+/, "")}`);
      try {
        await this.#copier.copyBetween(source.sandbox, sandbox, { patterns, ...options });
      } finally {
        if (source.isTemporary) await this.#options.close(source.sandbox);
      }
      return;
    }
    const context = await this.#openContext();
    const files = (await Promise.all(sources.map((source) => context.find(source)))).flat();
    const unpacked = unpacks ? files.filter(({ name }) => unpackCommand(name)) : [];
    const copied = files.filter((file) => !unpacked.includes(file));
    for (const file of unpacked)
      await this.#unpackFile(file, { ...options, target: `${options.target}/` }, execution);
    if (copied.length > 0)
      await context.archive(copied, (archive) => this.#copier.unpack(sandbox, { archive, ...options }));
  }

  async #unpackFile(
    file: ArchivedFile,
    options: { target: string; owner?: string | undefined; mode?: string | undefined },
    { sandbox }: Execution,
  ): Promise<void> {
    const context = await this.#openContext();
    await context.content(file, (content) =>
      this.#copier.convert(sandbox, { command: unpackCommand(file.name) as string, content }, (archive) =>
        this.#copier.unpack(sandbox, { archive, ...options }),
      ),
    );
  }

  #openContext(): Promise<Context> {
    const { dockerfile, signal } = this.#options;
    const { repository, source } = dockerfile;
    const { mirror, commit } = repository;
    this.#context ??= Context.open({
      ...{ mirror, commit, signal, folder: contextFolder(source), dockerfile: source.path },
    });
    return this.#context;
  }

  async #openSource(source: Source): Promise<{ sandbox: Sandbox; isTemporary: boolean }> {
    if ("stage" in source) return { ...(this.#stages.get(source.stage) as OpenStage), isTemporary: false };
    const image = await this.#pull(source.image);
    return { sandbox: await this.#options.open(asRoot(image)), isTemporary: true };
  }
}

interface Execution extends OpenStage {
  stage: Stage;
  runner: StepRunner;
  /** Folders that are emptied at the end of the stage. */
  caches: Set<string>;
}

/** The user of the stage may not exist yet, and files are copied as root. */
const asRoot = (image: SandboxImage): SandboxImage => ({ ...image, user: "root", mayLackShell: true });

const isRoot = (user: string) => /^(root|0)(:(root|0))?$/.test(user);
const ownerOf = (user: string) => (isRoot(user) ? "0:0" : user);

const copiesFrom = ({ sources }: Stage, index: number) =>
  [...sources.values()].some((source) => "stage" in source && source.stage === index);

const unpackCommand = (name: string) => archives.find(([pattern]) => pattern.test(name))?.[1];

async function* archiveOf(files: { name: string; content: Buffer }[]): AsyncGenerator<Buffer> {
  for (const { name, content } of files) {
    yield archiveHeader({ path: name, size: content.length, mode: 0o644 });
    yield content;
    yield tarPadding(content.length);
  }
  yield tarEnd;
}
