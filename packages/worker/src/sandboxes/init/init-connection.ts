import type { Duplex, Readable, Writable } from "node:stream";
import type { LimitEvents, TerminalSize } from "../sandbox.ts";
import { ConfirmedDeadline } from "./confirmed-deadline.ts";
import {
  decodeNumbers,
  encodeFrame,
  encodePayload,
  type Frame,
  FrameDecoder,
  firstConnectionId,
  fromInit,
  maxPayloadBytes,
  ProtocolError,
  splitNumber,
  toInit,
} from "./frames.ts";
import { startFailure } from "./start-failure.ts";
import { ConnectionStream, InputStream, OutputStream } from "./streams.ts";

/** How long init may take to kill a command. After that, the connection fails, and the caller kills the sandbox. */
const killTimeoutMs = 5000;
const startFlags = { stdin: 1, mergeOutput: 2, terminal: 4, user: 8 } as const;
const exitFlags = { killed: 1 } as const;

export interface InitOptions {
  deadlineMs: number;
  /** Whether the stream may be interrupted without being closed. It is then closed when init must have ended. */
  mayBeInterrupted?: boolean;
  /** The maximum number of processes, if no control group limits it. */
  maxProcesses?: number | undefined;
  /** The seccomp filter of commands, if nothing else filters their system calls. */
  seccompFilter?: Buffer | undefined;
  /** Folders to which every command has access, even if an earlier command has removed it. */
  folders: string[];
  /** Resolves when all processes have exited, after the stream has closed. Default: at once. */
  processesEnded?: () => Promise<void>;
}

export interface StartOptions {
  argv: string[];
  env: Record<string, string>;
  /** The command starts in the first of these folders that it can enter. */
  folders: string[];
  stdin: boolean;
  /** Whether stderr is the same pipe as stdout. */
  mergeOutput?: boolean;
  /** Makes stdin, stdout and stderr a terminal of this size. All output is then stdout. */
  terminal?: TerminalSize | undefined;
  /** Default: the user of init. */
  user?: { uid: number; gid: number; groups: number[] } | undefined;
}

export interface Ending {
  /** Null if the worker killed the command, or if init ended. */
  exitCode: number | null;
  signal?: string;
}

export interface InitCommand {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves with true when the command runs, and with false if it was killed first. Rejects if it cannot start. */
  readonly started: Promise<boolean>;
  /** Resolves when the command has exited or, if it was killed, when all its processes have. Never rejects. */
  readonly ended: Promise<Ending>;
  kill(): void;
  resize(size: TerminalSize): void;
}

class InterruptedError extends Error {
  constructor() {
    super("The connection was interrupted until the deadline of the sandbox passed.");
  }
}

/** A command with the frames that are still expected for it. */
class CommandState implements InitCommand {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly kill: () => void;
  readonly resize: (size: TerminalSize) => void;
  readonly #started = Promise.withResolvers<boolean>();
  readonly #ended = Promise.withResolvers<Ending>();
  readonly expected: Set<"exit" | "stdin" | "stdout" | "stderr"> = new Set([
    "exit",
    "stdin",
    "stdout",
    "stderr",
  ]);
  killTimer: NodeJS.Timeout | undefined;

  constructor(options: {
    id: number;
    send(type: number, id: number, payload?: Buffer): void;
    kill(command: CommandState): void;
    resize(size: TerminalSize): void;
  }) {
    const { id, send } = options;
    // Frames about a stream that init has closed are not sent.
    const sendFor =
      (name: "stdin" | "stdout" | "stderr") => (type: number, stream: number, payload?: Buffer) => {
        if (this.expected.has(name)) send(type, stream, payload);
      };
    this.stdin = new InputStream(sendFor("stdin"), id);
    this.stdout = new OutputStream(sendFor("stdout"), id + 1);
    this.stderr = new OutputStream(sendFor("stderr"), id + 2);
    this.kill = () => options.kill(this);
    this.resize = options.resize;
    this.#started.promise.catch(() => {}); // a caller may only await `ended`
  }

  get started(): Promise<boolean> {
    return this.#started.promise;
  }

  get ended(): Promise<Ending> {
    return this.#ended.promise;
  }

  onStarted(): void {
    this.#started.resolve(true);
  }

  onFailed(error: Error): void {
    this.#started.reject(error);
    this.#finish({ exitCode: null });
  }

  onExited(ending: Ending): void {
    this.#started.resolve(ending.exitCode !== null);
    this.#finish(ending);
  }

  /** Called when init has ended, with all its commands. */
  onLost(): void {
    this.expected.clear();
    this.onExited({ exitCode: null, signal: "SIGKILL" });
    this.stdin.onClosed();
    this.stdout.onEnd();
    this.stderr.onEnd();
  }

  #finish(ending: Ending): void {
    clearTimeout(this.killTimer);
    this.#ended.resolve(ending);
  }
}

/**
 * The worker's side of the protocol in frames.ts. It works over any byte stream and trusts nothing that arrives.
 *
 * Invariant: every command settles. If the stream closes, all commands end as killed, once their processes have exited.
 */
export class InitConnection {
  /**
   * Resolves when init has answered for the first time, with the number of earlier connections that configured it. Rejects
   * if the stream closes before.
   */
  readonly ready: Promise<number>;
  /** Resolves when the stream is closed, with the reason if this side closed it because of an error. */
  readonly closed: Promise<Error | undefined>;
  readonly #stream: Duplex;
  readonly #processesEnded: () => Promise<void>;
  readonly #decoder = new FrameDecoder();
  readonly #commands = new Map<number, CommandState>();
  readonly #listeners = new Map<
    number,
    { onConnection(stream: ConnectionStream): void; settle(error: number): void }
  >();
  readonly #connections = new Map<number, ConnectionStream>();
  /** Callers of `countLimits`, by the id of their request. */
  readonly #counting = new Map<number, (events: LimitEvents | undefined) => void>();
  /** Callers of `freeze` and `thaw`, by the id of their request. */
  readonly #freezing = new Map<number, () => void>();
  readonly #confirmedDeadline: ConfirmedDeadline;
  readonly #ready = Promise.withResolvers<number>();
  readonly #commandsEnded = Promise.withResolvers<boolean>();
  #lastId = 0;
  #failure: Error | undefined;
  #isEnding = false;
  #isClosed = false;

  constructor(stream: Duplex, options: InitOptions) {
    const { deadlineMs, maxProcesses = 0, seccompFilter, folders, processesEnded } = options;
    this.#stream = stream;
    this.#confirmedDeadline = new ConfirmedDeadline(() => {
      if (options.mayBeInterrupted) this.#fail(new InterruptedError());
    });
    this.#processesEnded = processesEnded ?? (async () => {});
    this.ready = this.#ready.promise;
    this.ready.catch(() => {}); // `closed` reports it too
    const closed = Promise.withResolvers<Error | undefined>();
    this.closed = closed.promise;
    stream.on("data", (chunk: Buffer) => this.#onChunk(chunk));
    stream.on("error", () => {});
    stream.once("end", () => stream.destroy());
    stream.once("close", () => {
      this.#onClose();
      closed.resolve(this.#failure);
    });
    const deadline = splitNumber(Math.max(0, Math.ceil(deadlineMs)));
    this.#confirmedDeadline.onSent(0, deadlineMs);
    const filter = wordsOf(seccompFilter);
    const numbers = [...deadline, maxProcesses, filter.length / 2, ...filter, folders.length];
    this.#send(toInit.configure, 0, encodePayload(numbers, folders));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** When init ends at the latest, as a `performance.now()` time, even if it does not notice that the stream has closed. */
  get endsBy(): number {
    return this.#confirmedDeadline.latest;
  }

  /** Starts a command. If init has ended, the command ends as killed. */
  start(options: StartOptions): InitCommand {
    const payload = encodeStart(options);
    const id = this.#nextId();
    const command = new CommandState({
      id,
      send: this.#send,
      kill: (killed) => this.#kill(id, killed),
      resize: ({ rows, columns }) => this.#send(toInit.resize, id, encodePayload([rows, columns])),
    });
    if (this.#isClosed) {
      void this.#processesEnded().then(() => command.onLost());
      return command;
    }
    this.#commands.set(id, command);
    this.#send(toInit.start, id, payload);
    return command;
  }

  /** Accepts connections to a port of a loopback address of the sandbox. */
  async listen(
    { address = "127.0.0.1", port }: { address?: string; port: number },
    onConnection: (stream: ConnectionStream) => void,
  ): Promise<void> {
    const id = this.#nextId();
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#listeners.set(id, { onConnection, settle: resolve });
    this.#send(toInit.listen, id, encodePayload([addressNumber(address), port]));
    const error = await promise;
    if (error !== 0) throw new Error(`The sandbox cannot listen on ${address}:${port} (error ${error}).`);
  }

  setDeadline(ms: number): void {
    if (this.#isClosed) return;
    const id = this.#nextId();
    this.#confirmedDeadline.onSent(id, ms);
    this.#send(toInit.deadline, id, encodePayload(splitNumber(Math.max(0, Math.ceil(ms)))));
  }

  /** Stops all processes except init, which still ends at the deadline. Resolves when it has, or when init has ended. */
  async freeze(): Promise<void> {
    await this.#sendFreezing(toInit.freeze);
  }

  /** Ends `freeze`. */
  async thaw(): Promise<void> {
    await this.#sendFreezing(toInit.thaw);
  }

  async #sendFreezing(type: number): Promise<void> {
    if (this.#isClosed) return;
    const id = this.#nextId();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#freezing.set(id, resolve);
    this.#send(type, id);
    await promise;
  }

  /** Returns how often the control groups of a container have enforced its limits, or undefined if init has ended. */
  async countLimits(): Promise<LimitEvents | undefined> {
    if (this.#isClosed) return undefined;
    const id = this.#nextId();
    const { promise, resolve } = Promise.withResolvers<LimitEvents | undefined>();
    this.#counting.set(id, resolve);
    this.#send(toInit.countLimits, id);
    return await promise;
  }

  /**
   * Kills every process below an init that stays without a connection, and closes the stream. Resolves when all have
   * exited, with false if init does not say so within the time.
   */
  async endCommands(timeoutMs: number): Promise<boolean> {
    this.#send(toInit.endCommands, 0);
    this.#isEnding = true;
    const timer = setTimeout(() => this.#stream.destroy(), timeoutMs);
    const hasEnded = await this.#commandsEnded.promise;
    clearTimeout(timer);
    this.#stream.destroy();
    return hasEnded;
  }

  close(): void {
    this.#stream.destroy();
  }

  #nextId(): number {
    for (;;) {
      this.#lastId = (this.#lastId + 4) % firstConnectionId;
      const users = [this.#commands, this.#listeners, this.#counting, this.#freezing];
      if (!users.some((ids) => ids.has(this.#lastId))) return this.#lastId;
    }
  }

  readonly #send = (type: number, id: number, payload?: Buffer): void => {
    if (!this.#isClosed && !this.#isEnding && this.#stream.writable)
      this.#stream.write(encodeFrame(type, id, payload));
  };

  #kill(id: number, command: CommandState): void {
    if (!command.expected.has("exit") || command.killTimer) return;
    command.killTimer = setTimeout(
      () => this.#fail(new Error("The sandbox did not kill a command in time.")),
      killTimeoutMs,
    );
    this.#send(toInit.kill, id);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#stream.destroy();
  }

  #onClose(): void {
    this.#isClosed = true;
    this.#confirmedDeadline.clear();
    this.#commandsEnded.resolve(false);
    this.#ready.reject(this.#failure ?? new Error("The sandbox's first process exited."));
    const commands = [...this.#commands.values()];
    void this.#processesEnded().then(() => commands.map((command) => command.onLost()));
    for (const connection of this.#connections.values()) connection.onClosed();
    for (const { settle } of this.#listeners.values()) settle(-1);
    for (const resolve of this.#counting.values()) resolve(undefined);
    for (const resolve of this.#freezing.values()) resolve();
    this.#commands.clear();
    this.#connections.clear();
  }

  #onChunk(chunk: Buffer): void {
    if (this.#failure) return;
    try {
      for (const frame of this.#decoder.push(chunk)) this.#onFrame(frame);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #onFrame(frame: Frame): void {
    const { type, id } = frame;
    if (type === fromInit.commandsEnded) this.#commandsEnded.resolve(true);
    else if (this.#isEnding) return;
    else if (type === fromInit.ready) this.#onReady(frame);
    else if (type === fromInit.listening) this.#onListening(frame);
    else if (type === fromInit.accepted) this.#onAccepted(frame);
    else if (type === fromInit.limitCounts) this.#onLimitCounts(frame);
    else if (type === fromInit.done) this.#onDone(frame);
    else if (id >= firstConnectionId) this.#onConnectionFrame(frame);
    else this.#onCommandFrame(frame);
  }

  #onReady({ id }: Frame): void {
    this.#confirmedDeadline.onConfirmed(0);
    this.#ready.resolve(id);
  }

  #onListening(frame: Frame): void {
    const [error = 0] = decodeNumbers(frame, 1);
    const listener = this.#listeners.get(frame.id);
    if (!listener) throw unknownId(frame);
    listener.settle(error);
  }

  #onLimitCounts(frame: Frame): void {
    const [oom_kills = 0, forks_refused = 0] = decodeNumbers(frame, 2);
    const resolve = this.#counting.get(frame.id);
    if (!resolve) throw unknownId(frame);
    this.#counting.delete(frame.id);
    resolve({ oom_kills, forks_refused });
  }

  /** Confirms a deadline, or that processes were stopped or continued. */
  #onDone(frame: Frame): void {
    const { id } = frame;
    if (this.#confirmedDeadline.onConfirmed(id)) return;
    const resolve = this.#freezing.get(id);
    if (!resolve) throw unknownId(frame);
    this.#freezing.delete(id);
    resolve();
  }

  #onAccepted(frame: Frame): void {
    const [listenerId = 0] = decodeNumbers(frame, 1);
    const listener = this.#listeners.get(listenerId);
    if (!listener || frame.id < firstConnectionId || this.#connections.has(frame.id)) throw unknownId(frame);
    if (this.#connections.size >= maxConnections) throw new ProtocolError("There are too many connections.");
    const connection = new ConnectionStream((type, id, payload) => {
      if (this.#connections.get(id) === connection) this.#send(type, id, payload);
    }, frame.id);
    this.#connections.set(frame.id, connection);
    listener.onConnection(connection);
  }

  #onConnectionFrame(frame: Frame): void {
    const connection = this.#connections.get(frame.id);
    if (!connection) throw unknownId(frame);
    if (frame.type === fromInit.data) connection.onData(frame.payload);
    else if (frame.type === fromInit.end) connection.onEnd();
    else if (frame.type === fromInit.credit) connection.onCredit(decodeNumbers(frame, 1)[0] as number);
    else if (frame.type === fromInit.closed) {
      this.#connections.delete(frame.id);
      connection.onClosed();
    } else throw unknownId(frame);
  }

  #onCommandFrame(frame: Frame): void {
    const stream = frame.id % 4;
    const command = this.#commands.get(frame.id - stream);
    if (!command) throw unknownId(frame);
    if (stream === 0) this.#onMainFrame(command, frame);
    else if (stream === 1) onOutputFrame(command, "stdout", frame);
    else if (stream === 2) onOutputFrame(command, "stderr", frame);
    else throw unknownId(frame);
    if (command.expected.size === 0) this.#commands.delete(frame.id - stream);
  }

  #onMainFrame(command: CommandState, frame: Frame): void {
    const { expected } = command;
    if (frame.type === fromInit.credit && expected.has("stdin")) {
      command.stdin.onCredit(decodeNumbers(frame, 1)[0] as number);
    } else if (frame.type === fromInit.closed && expected.delete("stdin")) {
      command.stdin.onClosed();
    } else if (frame.type === fromInit.started && expected.has("exit")) {
      command.onStarted();
    } else if (frame.type === fromInit.failed && expected.delete("exit")) {
      const [error = 0, step = 0] = decodeNumbers(frame, 2);
      command.onFailed(startFailure(error, step));
    } else if (frame.type === fromInit.exited && expected.delete("exit")) {
      const [flags = 0, status = 0] = decodeNumbers(frame, 2);
      const isKilled = (flags & exitFlags.killed) !== 0;
      command.onExited(isKilled ? { exitCode: null, signal: "SIGKILL" } : { exitCode: exitCodeOf(status) });
    } else throw unknownId(frame);
  }
}

const maxConnections = 1024;

function onOutputFrame(command: CommandState, name: "stdout" | "stderr", frame: Frame): void {
  if (frame.type === fromInit.data && command.expected.has(name)) command[name].onData(frame.payload);
  else if (frame.type === fromInit.end && command.expected.delete(name)) command[name].onEnd();
  else throw unknownId(frame);
}

function unknownId({ type, id }: Frame): ProtocolError {
  return new ProtocolError(`Unexpected frame of type ${type} for ${id}.`);
}

function addressNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** Converts a wait status as shells do: 128 + n if signal n ended the process. */
function exitCodeOf(status: number): number {
  const signal = status & 0x7f;
  return signal === 0 ? (status >> 8) & 0xff : 128 + signal;
}

/** An array of `struct sock_filter` as numbers. */
function wordsOf(filter: Buffer = Buffer.alloc(0)): number[] {
  return Array.from({ length: filter.length / 4 }, (_, index) => filter.readUInt32LE(4 * index));
}

function encodeStart(options: StartOptions): Buffer {
  const { argv, env, folders, stdin, mergeOutput, terminal, user } = options;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const strings = [...folders, ...argv, ...variables];
  if (strings.some((text) => text.includes("\0")))
    throw new Error("A command, its folder and its environment must not contain a NUL character.");
  const flags =
    (stdin ? startFlags.stdin : 0) |
    (mergeOutput ? startFlags.mergeOutput : 0) |
    (terminal ? startFlags.terminal : 0) |
    (user ? startFlags.user : 0);
  const { rows, columns } = terminal ?? { rows: 0, columns: 0 };
  const { uid, gid, groups } = user ?? { uid: 0, gid: 0, groups: [] };
  const numbers = [flags, rows, columns, uid, gid, groups.length, ...groups];
  const counts = [folders.length, argv.length, variables.length];
  const payload = encodePayload([...numbers, ...counts], strings);
  if (payload.length > maxPayloadBytes)
    throw new Error("The command and its environment are longer than 4 MiB. Put large values into files.");
  return payload;
}
