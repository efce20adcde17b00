import type { Config } from "@outrider/server/config";
import { Forges } from "@outrider/server/engine/forges/forges";
import { OutboundNetwork } from "@outrider/server/outbound/outbound-network";
import type { openDb } from "@outrider/server/store/connection/db";
import { listForges } from "@outrider/server/store/forges";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { openMasterVault } from "./master-key.ts";

/** Checks that the connected forges accept their credentials, and that these give access to a repository. */
export async function forgeFindings(db: ReturnType<typeof openDb>, config: Config): Promise<Finding[]> {
  const rows = await listForges(db);
  const vault = rows.length > 0 ? await openMasterVault(config) : undefined;
  // Without the master key, another check fails.
  if (!vault) return [];
  const network = new OutboundNetwork(config.outboundNetwork);
  try {
    const forges = new Forges({ db, vault, network });
    return await Promise.all(rows.map(({ forge_id, host }) => checkForge(forges, { id: forge_id, host })));
  } finally {
    await network.close();
  }
}

async function checkForge(forges: Forges, { id, host }: { id: string; host: string }): Promise<Finding> {
  const name = "forge";
  try {
    const client = await forges.clientFor(id);
    const { login } = await client.identify();
    const { repositories } = await client.listRepositories({});
    if (repositories.some(({ can_push }) => can_push)) return ok(name, `${host} accepts ${login}`);
    return warn(
      name,
      `${host} accepts ${login}, which cannot push to any repository`,
      "install the app in repositories, or give the token write access",
    );
  } catch (error) {
    const { message } = error as Error;
    return fail(name, `${host}: ${message}`, "see `outrider forges test`, or run `outrider connect` again");
  }
}
