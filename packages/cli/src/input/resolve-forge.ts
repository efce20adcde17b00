import type { Forge, Outrider } from "@outrider/sdk";
import { exits, UsageError } from "../exit-codes.ts";

/** Finds a connected forge by its host, its ID or the beginning of its ID. */
export async function findForge(client: Outrider, given: string): Promise<Forge> {
  const { forges } = await client.forges.list();
  const wanted = given
    .toLowerCase()
    .replace(/^https?:\/\//, "")
    .replace(/\/+$/, "");
  const exact = forges.filter(({ host, forge_id }) => host === wanted || forge_id === wanted);
  const found = exact.length > 0 ? exact : forges.filter(({ forge_id }) => forge_id.startsWith(wanted));
  const [first] = found;
  if (found.length === 1 && first && wanted !== "") return first;
  throw new UsageError(
    found.length > 1
      ? `More than one forge matches ${JSON.stringify(given)}. Use the ID from \`outrider forges list\`.`
      : `Forge ${JSON.stringify(given)} not found. List forges with \`outrider forges list\`.`,
    found.length > 1 ? { code: "ambiguous_id" } : { exit: exits.notFound, code: "resource_not_found" },
  );
}
