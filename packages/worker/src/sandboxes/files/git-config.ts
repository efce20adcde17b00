import type { GitAuthor, GitPush } from "../sandbox.ts";

const outrider: GitAuthor = { name: "Outrider", email: "outrider@localhost.invalid" };

/**
 * Returns git's system configuration for a sandbox, so that `git commit` works. A repository's or user's own `user.name`
 * and `user.email` take precedence for the author. The committer shows that Outrider made the commit.
 */
export function gitConfig(author: GitAuthor = outrider, pushes: readonly GitPush[] = []): string {
  const name = identPart(author.name) || outrider.name;
  const email = identPart(author.email) || outrider.email;
  const section = (title: string, ident: GitAuthor) =>
    `[${title}]\n\tname = ${quoteValue(ident.name)}\n\temail = ${quoteValue(ident.email)}\n`;
  return section("user", { name, email }) + section("committer", outrider) + pushSections(pushes);
}

/** The name of the file next to git's system configuration that is only for repositories with a push URL. */
export const pushConfigName = "gitconfig-push";

/**
 * Returns the configuration of the repositories with a push URL: their branch is pushed by default. Settings of a remote
 * apply to each repository that has a remote of the same name, so that they must not be in the system configuration: tests
 * often create and push repositories of their own.
 */
export function pushConfig([first]: readonly GitPush[] = []): string {
  return first ? `[remote "origin"]\n\tpush = ${quoteValue(`HEAD:refs/heads/${first.branch}`)}\n` : "";
}

/** Redirects pushes. `origin` keeps its URL, and a proxy is not used for the push URL even if one is configured. */
function pushSections(pushes: readonly GitPush[]): string {
  const [first] = pushes;
  return pushes
    .flatMap(({ folder, url, pushUrl, branch }) => [
      `[url ${quoteValue(pushUrl)}]\n\tpushInsteadOf = ${quoteValue(url)}\n`,
      `[http ${quoteValue(new URL(pushUrl).origin)}]\n\tproxy = ""\n`,
      // The repositories of a run usually have the same branch. In others, a plain `git push` is refused with the right command.
      ...(branch === first?.branch
        ? [".git", ".git/worktrees/*"].map(
            (name) =>
              `[includeIf ${quoteValue(`gitdir:${escapeGlob(`${folder}/`)}${name}`)}]\n\tpath = ${pushConfigName}\n`,
          )
        : []),
    ])
    .join("");
}

const escapeGlob = (path: string) => path.replace(/[*?[\]\\]/g, "\\$&");

/** Removes the characters that git refuses or removes in names and addresses. */
function identPart(text: string): string {
  return text.replace(/[\p{Cc}<>]/gu, "").replace(/^[\s.,:;"\\']+|[\s.,:;"\\']+$/g, "");
}

function quoteValue(text: string): string {
  return `"${text.replace(/\p{Cc}/gu, "").replace(/["\\]/g, "\\$&")}"`;
}
