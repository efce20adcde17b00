import type { Publication } from "@outrider/contract/publication";
import type { Sql } from "../../store/connection/db.ts";
import type { RunRepository } from "./run-repositories.ts";

/** What publications need of connected forges. */
export interface ForgeAccess {
  /** Returns the connected forge that hosts a repository. */
  findByUrl(sql: Sql, url: string): Promise<{ forgeId: string } | undefined>;
  /** Returns a credential for git, or undefined if no forge is connected for the repository's host. */
  credentialFor(url: string, options: { write: boolean }): Promise<{ credential: string } | undefined>;
}

/** Says why a repository cannot be published to, as far as this can be known without trying. */
export async function accessProblem(
  sql: Sql,
  forges: ForgeAccess,
  { repo }: RunRepository,
  kind: Publication["kind"],
): Promise<string | undefined> {
  if (kind === "branch" && repo.secret) return undefined;
  const host = hostOf(repo.url);
  if (await forges.findByUrl(sql, repo.url)) {
    // Forges provide credentials for https only.
    if (repo.secret || /^https?:/i.test(repo.url)) return undefined;
    return `Outrider cannot push to ${repo.url} with the credential of ${host}, which is for https. Use the https URL in the environment, or set \`secret\` of the repository to an SSH key.`;
  }
  if (kind !== "branch") {
    return `No forge is connected for ${host}, so Outrider cannot open a pull request. Connect it in Settings or with \`outrider connect\`, or publish only a branch.`;
  }
  return noCredential(repo.url);
}

export function noCredential(url: string): string {
  return `Outrider has no credential that can push to ${url}. Connect the forge of ${hostOf(url)} in Settings or with \`outrider connect\`, or set \`secret\` of the repository in the environment.`;
}

function hostOf(url: string): string {
  const [, host] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^@/]*@)?([^:/]+)/i.exec(url) ?? [];
  return host ?? url;
}
