import type { UsageResponse } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import { sanitizeLine } from "../../ui/text/sanitize.ts";
import { type RunsFilter, runsHref } from "./runs-link.ts";

interface GroupLinkProps {
  /** Undefined if no filter selects exactly the group's runs. */
  filter: RunsFilter | undefined;
  usage: UsageResponse | undefined;
  environment: string | undefined;
  name: string;
}

/** Shows a group's name, with a link over the whole row to its runs in the period. */
export function GroupLink({ filter, usage, environment, name }: GroupLinkProps) {
  const text = sanitizeLine(name);
  if (!filter || !usage) {
    return (
      <span className="relative block truncate" title={text}>
        {text}
      </span>
    );
  }
  return (
    <Link
      to={runsHref({ from: usage.from, to: usage.to, environment, ...filter })}
      title={text}
      className="relative block truncate font-medium after:absolute after:inset-0"
    >
      {text}
    </Link>
  );
}
