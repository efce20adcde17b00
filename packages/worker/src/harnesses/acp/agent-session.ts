import { setTimeout as pause } from "node:timers/promises";
import type { McpServer } from "@agentclientprotocol/sdk";
import { Failure, messageOf } from "@outrider/agent/failure";
import type { Redactor } from "../../redaction/redact.ts";
import type { Sandbox, Spawned } from "../../sandboxes/sandbox.ts";
import type { RunWorkspace } from "../../workspace/workspace.ts";
import { AgentConnection, AgentError, type PromptEnd } from "./connection.ts";
import type { AgentSetup, Profile, Prompt } from "./profile.ts";

/** How long an agent may take to exit by itself, so that its own files are complete. */
const EXIT_MS = 1_000;

/** Everything that is needed to start the agent, again if necessary. */
export interface AgentLaunch {
  profile: Profile;
  setup: AgentSetup;
  /** Variables of the operator's declaration. They override those of the profile. */
  env: Record<string, string>;
  mcpServers: McpServer[];
  workspace: RunWorkspace;
  redactor: Redactor;
}

export interface OpenSessionOptions {
  /** The session to load, if there is one. */
  sessionId: string | undefined;
  onUpdate: NonNullable<AgentConnection["onUpdate"]>;
  signal: AbortSignal;
}

/** An agent's process in the sandbox with one session, from its start to its end. */
export class AgentSession {
  readonly id: string;
  /** Whether the agent remembers an earlier session. */
  readonly isLoaded: boolean;
  readonly takesImages: boolean;
  readonly #connection: AgentConnection;
  readonly #process: Spawned;
  readonly #profile: Profile;
  #end: AgentError | undefined;

  private constructor(profile: Profile, agent: StartedAgent, session: { id: string; isLoaded: boolean }) {
    this.#profile = profile;
    this.id = session.id;
    this.isLoaded = session.isLoaded;
    this.takesImages = agent.takesImages;
    this.#connection = agent.connection;
    this.#process = agent.process;
    void agent.connection.closed.then((error) => {
      this.#end = error;
    });
  }

  /** Starts the agent, and loads its session or creates a new one. Rejects with a Failure if the agent does not start. */
  static async open(launch: AgentLaunch, options: OpenSessionOptions): Promise<AgentSession> {
    const { sessionId, signal } = options;
    const agent = await startAgent(launch, options);
    if (sessionId !== undefined && agent.canLoad) {
      try {
        const { replaysLate } = launch.profile;
        await agent.connection.loadSession(sessionId, { ...sessionOptions(launch, signal), replaysLate });
        return await AgentSession.#ready(launch, agent, { id: sessionId, isLoaded: true }, signal);
      } catch (error) {
        await agent.connection.close();
        if (!(error instanceof AgentError)) throw error;
      }
      return await AgentSession.open(launch, { ...options, sessionId: undefined });
    }
    try {
      const id = await agent.connection.newSession(sessionOptions(launch, signal));
      return await AgentSession.#ready(launch, agent, { id, isLoaded: false }, signal);
    } catch (error) {
      await agent.connection.close();
      throw toFailure(error);
    }
  }

  static async #ready(
    { profile }: AgentLaunch,
    agent: StartedAgent,
    session: { id: string; isLoaded: boolean },
    signal: AbortSignal,
  ): Promise<AgentSession> {
    const { sessionMode: modeId } = profile;
    if (modeId !== undefined) await agent.connection.setMode(session.id, { modeId, signal });
    return new AgentSession(profile, agent, session);
  }

  /** The reason why the agent has exited, if it has. */
  get end(): AgentError | undefined {
    return this.#end;
  }

  prompt(prompt: Prompt, signal: AbortSignal): Promise<PromptEnd> {
    const sent = this.#profile.joinsTexts ? separateTexts(prompt) : prompt;
    return this.#connection.prompt(this.id, { prompt: sent, signal });
  }

  /** Asks the agent to stop. Its prompts then end soon. */
  cancel(): Promise<void> {
    return this.#connection.cancel(this.id);
  }

  /** Lets the agent exit by itself, and kills what is left. */
  async stop(): Promise<void> {
    this.#process.stdin.end();
    await Promise.race([this.#process.ended, pause(EXIT_MS, undefined, { ref: false })]);
    await this.kill();
  }

  async kill(): Promise<void> {
    await this.#connection.close();
  }
}

interface StartedAgent {
  connection: AgentConnection;
  process: Spawned;
  canLoad: boolean;
  takesImages: boolean;
}

async function startAgent(
  { profile, setup, env, workspace, redactor }: AgentLaunch,
  { onUpdate, signal }: OpenSessionOptions,
): Promise<StartedAgent> {
  await writeFiles(await workspace.open(), profile.files(setup), setup.home);
  const process = await workspace.spawnAgent(profile.command(setup), {
    env: { ...profile.env(setup), ...env },
    signal,
  });
  const connection = new AgentConnection({ process, redactor });
  connection.onUpdate = onUpdate;
  try {
    const { clientMeta, startMs: timeoutMs } = profile;
    const { agentCapabilities } = await connection.initialize({ clientMeta, timeoutMs, signal });
    return {
      ...{ connection, process },
      canLoad: profile.canLoadSessions && agentCapabilities?.loadSession === true,
      takesImages: setup.model.supports_images && agentCapabilities?.promptCapabilities?.image === true,
    };
  } catch (error) {
    await connection.close();
    throw toFailure(error);
  }
}

async function writeFiles(sandbox: Sandbox, files: Record<string, string>, home: string): Promise<void> {
  for (const [path, text] of Object.entries(files)) await sandbox.write(`${home}/${path}`, Buffer.from(text));
}

function sessionOptions({ profile, setup, mcpServers }: AgentLaunch, signal: AbortSignal) {
  return { cwd: setup.workingFolder, mcpServers, meta: profile.sessionMeta?.(setup), signal };
}

/** Ends each text with an empty line, so that the next one starts on a line of its own. */
function separateTexts(prompt: Prompt): Prompt {
  return prompt.map((block) => (block.type === "text" ? { ...block, text: `${block.text}\n\n` } : block));
}

function toFailure(error: unknown): unknown {
  return error instanceof AgentError ? new Failure("harness_failed", messageOf(error)) : error;
}
