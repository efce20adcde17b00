import {
  type AgentConfigInput,
  type AmbientAgentConfig,
  type MCPServerConfig,
  secretsNamedIn,
  serversByName,
  skillName,
} from "@outrider/contract/agent-config";
import type { CloudEnvironment } from "@outrider/contract/environment";
import type { Sql } from "../store/db.ts";
import { findEnvironment } from "../store/environments.ts";
import type { Models } from "./models.ts";
import type { Principal } from "./principal.ts";
import { badMember, Refusal } from "./refusal.ts";

const DEFAULT_IDLE_TIMEOUT_MINUTES = 10;

export interface Resolved {
  /** As it stands on the run: complete, with literal values of MCP servers masked. */
  config: AmbientAgentConfig & { model_id: string };
  /** The MCP servers as they were sent, where masking hid something; to be encrypted. */
  unmasked?: Record<string, MCPServerConfig>;
  /** The caller gave no name, so the skill gives it: as its spec has it now, as it calls itself once it is read. */
  namedBySkill: boolean;
}

/** What a run will use: the caller's configuration, then the cloud agent's, then the installation's. */
export async function resolveConfig(
  sql: Sql,
  models: Models,
  principal: Principal,
  sent: AgentConfigInput = {},
): Promise<Resolved> {
  const { mcp_servers, ...members } = sent;
  const asked = members.model_id ?? principal.defaults.model_id ?? models.list.default_model_id;
  // An alias may mean another model tomorrow; the run stays with the one that it began with.
  const { model_id } = models.require(asked, "/config/model_id");
  const environment_id = members.environment_id ?? principal.defaults.environment_id;
  const environment = environment_id ? await usableEnvironment(sql, principal, environment_id) : undefined;
  const servers = mcp_servers && serversByName(mcp_servers);
  if (servers) requireOwnSecrets(servers, environment);
  const masked = servers && mapValues(servers, maskServer);
  const name = members.name ?? (members.skill_spec ? skillName(members.skill_spec) : undefined);
  const config = {
    ...members,
    ...(name ? { name } : {}),
    model_id,
    ...(environment_id ? { environment_id } : {}),
    ...(masked ? { mcp_servers: masked } : {}),
    idle_timeout_minutes: members.idle_timeout_minutes ?? DEFAULT_IDLE_TIMEOUT_MINUTES,
  };
  const hidden = servers && JSON.stringify(servers) !== JSON.stringify(masked);
  const namedBySkill = members.name === undefined && members.skill_spec !== undefined;
  return { config, namedBySkill, ...(hidden ? { unmasked: servers } : {}) };
}

async function usableEnvironment(
  sql: Sql,
  { key }: Principal,
  environmentId: string,
): Promise<CloudEnvironment> {
  const environment = await findEnvironment(sql, environmentId);
  if (!environment) throw badMember("/config/environment_id", "names no environment, or a deleted one");
  const allowed = key?.limits?.environment_ids;
  if (allowed && !allowed.includes(environmentId)) {
    throw badMember(
      "/config/environment_id",
      "is not one of the environments that the key is limited to",
      "not_authorized",
    );
  }
  return environment;
}

/** A run reaches only the secrets that its environment was given. */
function requireOwnSecrets(
  servers: Record<string, MCPServerConfig>,
  environment: CloudEnvironment | undefined,
) {
  for (const [server, config] of Object.entries(servers)) {
    for (const member of ["env", "headers"] as const) {
      for (const [name, value] of Object.entries(config[member] ?? {})) {
        const foreign = secretsNamedIn(value).find((secret) => !environment?.secrets.includes(secret));
        if (foreign === undefined) continue;
        throw new Refusal("not_authorized", `The run's environment has no secret \`${foreign}\`.`, [
          {
            pointer: `/config/mcp_servers/${server}/${member}/${name}`,
            message: `names the secret \`${foreign}\``,
          },
        ]);
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

/** References stay readable; whatever stands between them may be a secret. */
function maskLiteral(value: string): string {
  return value
    .split(/(\$\{secrets\.[A-Za-z_][A-Za-z0-9_]*\})/)
    .map((part, index) => (part === "" || index % 2 === 1 ? part : "***"))
    .join("");
}

function mapValues<T>(record: Record<string, T>, change: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
