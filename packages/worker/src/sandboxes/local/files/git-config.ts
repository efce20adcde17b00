import type { GitAuthor } from "../../sandbox.ts";

const outrider: GitAuthor = { name: "Outrider", email: "outrider@localhost.invalid" };

/**
 * Returns git's system configuration for a sandbox, so that `git commit` works. A repository's or user's own `user.name`
 * and `user.email` take precedence for the author. The committer shows that Outrider made the commit.
 */
export function gitConfig(author: GitAuthor = outrider): string {
  const name = identPart(author.name) || outrider.name;
  const email = identPart(author.email) || outrider.email;
  const section = (title: string, ident: GitAuthor) =>
    `[${title}]\n\tname = ${quoteValue(ident.name)}\n\temail = ${quoteValue(ident.email)}\n`;
  return section("user", { name, email }) + section("committer", outrider);
}

/** Removes the characters that git refuses or removes in names and addresses. */
function identPart(text: string): string {
  return text.replace(/[\p{Cc}<>]/gu, "").replace(/^[\s.,:;"\\']+|[\s.,:;"\\']+$/g, "");
}

function quoteValue(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
