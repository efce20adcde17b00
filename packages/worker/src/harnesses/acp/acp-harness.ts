import { Failure } from "@outrider/agent/failure";
import { untilStopped } from "@outrider/agent/turn/run-turn";
import type { AssignedHarness, Assignment } from "@outrider/contract/worker";
import { type ExtraRoute, ModelGateway } from "../../gateway/model-gateway.ts";
import { openBridge } from "../../mcp/bridge/open-bridge.ts";
import { sandboxPaths } from "../../sandboxes/paths.ts";
import { gatewayPort } from "../../workspace/gateway-forward.ts";
import { openInstructions } from "../agent-instructions.ts";
import type { Harness, HarnessOptions, PreparedHarness } from "../harness.ts";
import type { HarnessInstaller } from "../install/harness-installer.ts";
import type { InstalledHarness } from "../install/installed-harness.ts";
import { type AcpAgent, AcpTurn } from "./acp-turn.ts";
import type { AgentSetup, Profile } from "./profile.ts";
import { profileOf } from "./profiles.ts";

export interface PrepareAcpOptions {
  installer: HarnessInstaller;
  /** Called when the agent must be installed first, which takes a while, and when that is done. */
  onInstall(title: string, state: "started" | "finished"): Promise<unknown>;
  signal: AbortSignal;
}

/** Installs the agent of a run. Rejects with a Failure if that is not possible. */
export async function prepareAcp(
  harness: AssignedHarness,
  options: PrepareAcpOptions,
): Promise<PreparedHarness> {
  const { name, title, unavailable } = harness;
  if (unavailable) throw new Failure("harness_failed", `${title} is no longer available: ${unavailable}.`);
  const profile = profileOf(harness);
  if (!profile)
    throw new Failure("harness_failed", `This worker does not know the agent ${name}. Upgrade it.`);
  const installed = await install(harness, options);
  let gateway: ModelGateway | undefined;
  return {
    additions: {
      bundles: installed?.bundles ?? [],
      onConnection: (connection) => (gateway ? gateway.accept(connection) : connection.destroy()),
    },
    async open(opened) {
      const agent = await openAcp(opened, { harness, profile, installed });
      gateway = agent.gateway;
      return agent.harness;
    },
  };
}

/** A declared agent without packages is a program of the environment's image. */
async function install(
  { name, title, packages, command }: AssignedHarness,
  { installer, onInstall, signal }: PrepareAcpOptions,
): Promise<InstalledHarness | undefined> {
  if (command && !packages) return undefined;
  let started: Promise<unknown> | undefined;
  const onProgress = () => {
    started ??= onInstall(title, "started");
  };
  const installed = await installer.install(name, { packages, signal, onProgress });
  if (started) {
    await started;
    await onInstall(title, "finished");
  }
  return installed;
}

interface AcpParts {
  harness: AssignedHarness;
  profile: Profile;
  installed: InstalledHarness | undefined;
}

async function openAcp(
  options: HarnessOptions,
  { harness, profile, installed }: AcpParts,
): Promise<{ harness: Harness; gateway: ModelGateway }> {
  const { assignment, workspace, redactor } = options;
  const { model, output_schema } = assignment;
  const { name, title } = harness;
  if (model.unavailable) {
    const message = `The model ${model.model_id} is no longer available: ${model.unavailable}.`;
    throw new Failure("model_not_available", message);
  }
  const instructions = await openInstructions(options, {
    readsGuides: profile.readsGuides ?? [],
    hasBridge: harness.supports_mcp_servers,
  });
  const setup = createSetup(harness, {
    ...{ assignment, installed, workingFolder: workspace.workingFolder },
    instructions: instructions.text,
  });
  // Opened last, because an error after this would leave servers running.
  const bridge = await openBridge(options, instructions);
  const gateway = openGateway(options, { harness, profile, setup, mcpRoute: bridge.route });
  const mcpServers = harness.supports_mcp_servers ? bridge.sessionServers(setup.gatewayUrl) : [];
  const agent: AcpAgent = {
    ...{ name, title, gateway, output_schema, model_id: model.model_id, instructions: instructions.text },
    launch: { ...{ profile, setup, workspace, redactor, mcpServers }, env: harness.env ?? {} },
  };
  const { version, packages } = installed ?? {};
  const used = { name, title, ...(version ? { version } : {}), ...(packages ? { packages } : {}) };
  return {
    gateway,
    harness: {
      turn: (input, io) =>
        untilStopped(io.signal, (halt, onLeaseLost) =>
          new AcpTurn(agent, { input, io }, halt, onLeaseLost).run(),
        ),
      get receipt() {
        return {
          ...instructions.receipt,
          ...(bridge.receipt ? { mcp_servers: bridge.receipt } : {}),
          harness: used,
        };
      },
      async close() {
        await gateway.close();
        await bridge.close();
      },
    },
  };
}

interface GatewayParts {
  harness: AssignedHarness;
  profile: Profile;
  setup: AgentSetup;
  mcpRoute: ExtraRoute;
}

function openGateway(
  { assignment, redactor, signal }: HarnessOptions,
  { harness: { small_model }, profile, setup, mcpRoute }: GatewayParts,
): ModelGateway {
  const models = [assignment.model, ...(small_model ? [small_model] : [])];
  /** Without a small model, the run's model is used for everything. */
  const find = (name: string) => {
    const meant = profile.modelOf?.(name, setup);
    return meant === "small model" && small_model ? small_model : meant && assignment.model;
  };
  return new ModelGateway({
    models: models.map((model) => ({
      ...{ names: [model.name, model.model_id], model },
      isMeantBy: (name) => find(name) === model,
    })),
    redact: (text) => redactor.redact(text),
    extraRoutes: [mcpRoute],
    signal,
  });
}

interface SetupParts {
  assignment: Assignment;
  installed: InstalledHarness | undefined;
  instructions: string;
  workingFolder: string;
}

function createSetup(
  { wire_format, small_model }: AssignedHarness,
  { assignment, installed, instructions, workingFolder }: SetupParts,
): AgentSetup {
  const { model, agent_config } = assignment;
  const { context_tokens, max_output_tokens, supports_images } = model;
  return {
    gatewayUrl: `http://127.0.0.1:${gatewayPort}`,
    wireFormat: wire_format,
    model: { id: model.name, context_tokens, max_output_tokens, supports_images },
    smallModelId: small_model?.name ?? model.name,
    reasoningEffort: agent_config.reasoning_effort,
    ...{ instructions, workingFolder },
    home: sandboxPaths.home,
    node: installed?.node ?? "node",
    packages: installed?.packagesPath ?? "",
  };
}
