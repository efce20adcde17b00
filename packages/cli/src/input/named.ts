import type { CloudAgent, CloudEnvironment, Outrider, Person } from "@outrider/sdk";
import { Complaint, exits } from "../exit.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** People know environments and cloud agents by name; the API by id. */

export async function findEnvironment(client: Outrider, given: string): Promise<CloudEnvironment> {
  if (UUID.test(given)) return client.environments.get(given);
  const { environments } = await client.environments.list();
  return theOne("environment", given, environments, ({ environment_id }) => environment_id);
}

export async function environmentId(client: Outrider, given: string): Promise<string> {
  return UUID.test(given) ? given : (await findEnvironment(client, given)).environment_id;
}

export async function findAgent(client: Outrider, given: string): Promise<CloudAgent> {
  if (UUID.test(given)) return client.identities.get(given);
  const { identities } = await client.identities.list();
  return theOne("cloud agent", given, identities, ({ uid }) => uid);
}

/** People are known by their e-mail addresses, which are the same in capitals. */
export async function findPerson(client: Outrider, given: string): Promise<Person> {
  const { people } = await client.people.list();
  const wanted = given.toLowerCase();
  const found = people.find(({ uid, email }) => uid === wanted || email.toLowerCase() === wanted);
  if (found) return found;
  throw new Complaint(`Nobody has the address or uid ${JSON.stringify(given)}.`, {
    exit: exits.notFound,
    code: "resource_not_found",
  });
}

function theOne<T extends { name: string }>(
  what: string,
  given: string,
  all: T[],
  idOf: (one: T) => string,
): T {
  const found = all.filter(({ name }) => name === given);
  const [one] = found;
  if (one && found.length === 1) return one;
  if (one)
    throw new Complaint(
      `More than one ${what} is called ${JSON.stringify(given)}: give one of ${found.map(idOf).join(", ")}.`,
    );
  const names = all.map(({ name }) => JSON.stringify(name)).join(", ");
  throw new Complaint(
    `There is no ${what} ${JSON.stringify(given)}${names ? `: there are ${names}` : ", and no other"}.`,
    { exit: exits.notFound, code: "resource_not_found" },
  );
}

/** A run by its id, or by its session link. */
export function runIdOf(given: string): string {
  return /\/runs\/([0-9a-f-]{36})\/?$/i.exec(given)?.[1] ?? given;
}
