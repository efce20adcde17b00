import type { CloudEnvironment, Identity, Outrider, Template, User, View } from "@outrider/sdk";
import { exits, UsageError } from "../exit-codes.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Resolves names and email addresses on the command line to the IDs that the API expects. */

export async function findEnvironment(client: Outrider, given: string): Promise<CloudEnvironment> {
  if (UUID.test(given)) return client.environments.get(given);
  const { environments } = await client.environments.list();
  return findUnique("environment", given, environments, ({ environment_id }) => environment_id);
}

export async function findEnvironmentId(client: Outrider, given: string): Promise<string> {
  return UUID.test(given) ? given : (await findEnvironment(client, given)).environment_id;
}

export async function findIdentity(client: Outrider, given: string): Promise<Identity> {
  if (UUID.test(given)) return client.identities.get(given);
  const { agents } = await client.identities.list();
  return findUnique("cloud agent", given, agents, ({ uid }) => uid);
}

export async function findTemplate(client: Outrider, given: string): Promise<Template> {
  if (UUID.test(given)) return client.templates.get(given);
  const { templates } = await client.templates.list();
  return findUnique("template", given, templates, ({ template_id }) => template_id);
}

export async function findView(client: Outrider, given: string): Promise<View> {
  const { views } = await client.views.list();
  return views.find(({ view_id }) => view_id === given) ?? findUnique("view", given, views, viewId);
}

const viewId = ({ view_id }: View) => view_id;

/** Finds a user by uid or email address. Email addresses are case-insensitive. */
export async function findUser(client: Outrider, given: string): Promise<User> {
  const { users } = await client.users.list();
  const wanted = given.toLowerCase();
  const found = users.find(({ uid, email }) => uid === wanted || email.toLowerCase() === wanted);
  if (found) return found;
  throw new UsageError(`User ${JSON.stringify(given)} not found.`, {
    exit: exits.notFound,
    code: "resource_not_found",
  });
}

function findUnique<T extends { name: string }>(
  type: string,
  name: string,
  items: T[],
  idOf: (item: T) => string,
): T {
  const matches = items.filter((item) => item.name === name);
  const [first] = matches;
  if (first && matches.length === 1) return first;
  if (first)
    throw new UsageError(
      `More than one ${type} is named ${JSON.stringify(name)}. Use an ID: ${matches.map(idOf).join(", ")}.`,
    );
  const names = items.map((item) => JSON.stringify(item.name)).join(", ");
  throw new UsageError(
    `${type[0]?.toUpperCase()}${type.slice(1)} ${JSON.stringify(name)} not found.${names ? ` Available: ${names}.` : ""}`,
    { exit: exits.notFound, code: "resource_not_found" },
  );
}
