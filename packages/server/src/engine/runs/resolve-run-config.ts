import {
  type AgentConfigInput,
  type AmbientAgentConfig,
  findSecretNames,
  type MCPServerConfig,
  type ReasoningEffort,
  serversByName,
  skillName,
} from "@outrider/contract/agent-config";
import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import type { CloudEnvironment } from "@outrider/contract/environment";
import { allowsKind, type PublishKind, resolvePublishPolicy } from "@outrider/contract/publish-policy";
import { WorkerLabels } from "@outrider/contract/worker-pool";
import type { Sql } from "../../store/connection/db.ts";
import { ApiError, invalidField } from "../api-error.ts";
import { requireEnvironmentField } from "../auth/environment-access.ts";
import type { Principal } from "../auth/principal.ts";
import type { Harnesses } from "../harnesses/harnesses.ts";
import { type Models, requireReasoningEffort } from "../models/models.ts";

const DEFAULT_IDLE_TIMEOUT_MINUTES = 10;

export interface ResolvedConfig {
  /** The complete configuration, as shown in the run, with literal values in MCP servers masked. */
  config: AmbientAgentConfig & { model_id: string };
  /** The original MCP servers, if masking changed them. They are stored encrypted. */
  unmasked?: Record<string, MCPServerConfig>;
  /**
   * True if the caller did not specify a name, so the run is named after its skill. The name comes from the skill spec
   * at first, and from the skill itself once a worker has read it.
   */
  namedBySkill: boolean;
}

/**
 * Resolves a run's configuration from the request, the cloud agent's defaults and the installation's defaults, in that
 * order. The environment's harness comes after that of the cloud agent. The environment also selects workers.
 */
export async function resolveConfig(
  sql: Sql,
  { models, harnesses }: { models: Models; harnesses: Harnesses },
  principal: Principal,
  sent: AgentConfigInput = {},
): Promise<ResolvedConfig> {
  const { mcp_servers, ...fields } = sent;
  const requested = fields.model_id ?? principal.defaults.model_id ?? models.list.default_model_id;
  // Resolves the alias now, so that the run's model does not change if the alias changes later.
  const { model_id } = models.require(requested, "/config/model_id");
  if (fields.reasoning_effort) requireReasoningEffort(models, model_id, "/config/reasoning_effort");
  const environment_id = fields.environment_id ?? principal.defaults.environment_id;
  const environment = await requireEnvironmentField(sql, principal, {
    pointer: "/config/environment_id",
    environmentId: environment_id,
  });
  if (fields.publish) requirePublishing(fields.publish, environment);
  const servers = mcp_servers && serversByName(mcp_servers);
  if (servers) requireEnvironmentSecrets(servers, environment);
  const harness = chooseHarness(fields.harness, principal, environment);
  harnesses.requireUsable(
    {
      ...harness,
      modelId: model_id,
      hasMcpServers: Object.keys(servers ?? {}).length > 0,
      hasReasoningEffort: fields.reasoning_effort !== undefined,
    },
    {
      harness: "/config/harness",
      model: fields.model_id === undefined ? undefined : "/config/model_id",
      mcpServers: "/config/mcp_servers",
      reasoningEffort: "/config/reasoning_effort",
    },
  );
  const canDefaultEffort = harnesses.supportsReasoningEffort(harness.name);
  const reasoning_effort =
    fields.reasoning_effort ?? (canDefaultEffort ? defaultEffort(models, principal, model_id) : undefined);
  const masked = servers && mapValues(servers, maskServer);
  const name = fields.name ?? (fields.skill_spec ? skillName(fields.skill_spec) : undefined);
  const config = {
    ...fields,
    ...(name ? { name } : {}),
    model_id,
    ...(reasoning_effort ? { reasoning_effort } : {}),
    ...(harness.isSet ? { harness: harness.name } : {}),
    ...(environment_id ? { environment_id } : {}),
    ...selectWorkers(fields, environment),
    ...(masked ? { mcp_servers: masked } : {}),
    idle_timeout_minutes: fields.idle_timeout_minutes ?? DEFAULT_IDLE_TIMEOUT_MINUTES,
  };
  const hidden = servers && JSON.stringify(servers) !== JSON.stringify(masked);
  const namedBySkill = fields.name === undefined && fields.skill_spec !== undefined;
  return { config, namedBySkill, ...(hidden ? { unmasked: servers } : {}) };
}

/**
 * Returns the pool, the labels and the kind of sandboxes of the run's workers. The values of the run replace those of the
 * environment one by one.
 */
function selectWorkers(
  requested: Pick<AgentConfigInput, "worker_host" | "worker_selector" | "sandbox">,
  environment: CloudEnvironment | undefined,
): Pick<AmbientAgentConfig, "worker_host" | "worker_selector" | "sandbox"> {
  const sandbox = requested.sandbox ?? environment?.sandbox;
  const worker_host = requested.worker_host ?? environment?.worker_host;
  const selector = { ...environment?.worker_selector, ...requested.worker_selector };
  const worker_selector = WorkerLabels.safeParse(selector);
  if (!worker_selector.success)
    throw invalidField(
      "/config/worker_selector",
      "must have at most 32 labels with those of the environment",
    );
  const isSet = Object.keys(selector).length > 0;
  return {
    ...(sandbox ? { sandbox } : {}),
    ...(worker_host ? { worker_host } : {}),
    ...(isSet ? { worker_selector: selector } : {}),
  };
}

/** Throws if no repository of the environment may be published in this way. */
function requirePublishing(kind: PublishKind, environment: CloudEnvironment | undefined) {
  if (kind === "none") return;
  const policies = (environment?.repos ?? []).map(({ publish }) => resolvePublishPolicy(publish));
  if (policies.some(({ publish }) => allowsKind(publish, kind))) return;
  const message =
    policies.length === 0
      ? "requires an environment with a repository"
      : `must be allowed by the policy of a repository of the environment; set \`publish\` of a repository to \`${kind}\``;
  throw invalidField("/config/publish", message);
}

/** Returns the harness of the request, of the cloud agent or of the environment, in that order. */
function chooseHarness(
  requested: string | undefined,
  { defaults }: Principal,
  environment: CloudEnvironment | undefined,
): { name: string; isSet: boolean; defaultOf?: "cloud agent" | "environment" } {
  if (requested) return { name: requested, isSet: true };
  if (defaults.harness) return { name: defaults.harness, isSet: true, defaultOf: "cloud agent" };
  if (environment?.harness) return { name: environment.harness, isSet: true, defaultOf: "environment" };
  return { name: DEFAULT_HARNESS, isSet: false };
}

/** Returns the cloud agent's effort, unless the run uses a model that has none. */
function defaultEffort(
  models: Models,
  { defaults }: Principal,
  modelId: string,
): ReasoningEffort | undefined {
  return models.find(modelId)?.supports_reasoning_effort ? defaults.reasoning_effort : undefined;
}

/** Throws if an MCP server refers to a secret that the run's environment does not provide. */
function requireEnvironmentSecrets(
  servers: Record<string, MCPServerConfig>,
  environment: CloudEnvironment | undefined,
) {
  for (const [server, config] of Object.entries(servers)) {
    for (const field of ["env", "headers"] as const) {
      for (const [name, value] of Object.entries(config[field] ?? {})) {
        const foreign = findSecretNames(value).find((secret) => !environment?.secrets.includes(secret));
        if (foreign === undefined) continue;
        throw new ApiError(
          "not_authorized",
          `The run's environment does not have the secret \`${foreign}\`.`,
          [
            {
              pointer: `/config/mcp_servers/${server}/${field}/${name}`,
              message: `refers to the secret \`${foreign}\``,
            },
          ],
        );
      }
    }
  }
}

function maskServer({ env, headers, ...server }: MCPServerConfig): MCPServerConfig {
  return {
    ...server,
    ...(env ? { env: mapValues(env, maskLiteral) } : {}),
    ...(headers ? { headers: mapValues(headers, maskLiteral) } : {}),
  };
}

/** Masks everything but secret references, because any literal text may be a secret. */
function maskLiteral(value: string): string {
  return value
    .split(/(\$\{secrets\.[A-Za-z_][A-Za-z0-9_]*\})/)
    .map((part, index) => (part === "" || index % 2 === 1 ? part : "***"))
    .join("");
}

function mapValues<T>(record: Record<string, T>, change: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
