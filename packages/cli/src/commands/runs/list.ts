import type { ListRunsParams, RunItem } from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { collectPages } from "../../input/collect-pages.ts";
import { numberParser, omitUndefined } from "../../input/pairs.ts";
import { addRunFilter, buildRunFilter, type RunFilterFlags } from "../../input/run-filter.ts";
import { ago, dollars } from "../../terminal/format.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";
import { paintState } from "../../transcript/summary.ts";

interface ListFlags extends RunFilterFlags {
  limit: number;
  all?: true;
  cursor?: string;
  sort?: "created_at" | "updated_at" | "title";
  ascending?: true;
}

const command = clientCommand("list", "List runs, newest first.")
  .alias("ls")
  .option("--limit <number>", "number of runs", numberParser("--limit"), 20)
  .addOption(new Option("--all", "all pages").conflicts("cursor"))
  .option("--cursor <cursor>", "cursor from the previous page")
  .addOption(
    new Option("--sort <by>", "sort field; default: created_at").choices([
      "created_at",
      "updated_at",
      "title",
    ]),
  )
  .option("--ascending", "sort in ascending order");

/** Returns the newest pull request, such as "#12 merged". */
function pullRequestText({ pull_requests: [newest] = [] }: RunItem): string | undefined {
  return newest && `#${newest.number} ${newest.state}`;
}

export const listCommand = addRunFilter(
  command,
  "QUEUED, INPROGRESS, BLOCKED, SUCCEEDED, FAILED or CANCELLED",
).action(
  withClient<ListFlags>(async ({ client, out, flags }) => {
    const query = omitUndefined({
      limit: flags.all ? 500 : flags.limit,
      cursor: flags.cursor,
      sort_by: flags.sort,
      sort_order: flags.ascending && "asc",
      ...(await buildRunFilter(client, flags)),
      // The cast is safe, because the API validates states and sources.
    }) as ListRunsParams;
    const page = await client.runs.list(query);
    const runs = flags.all ? await collectPages(page) : page.items;
    const document = flags.all ? { runs, page_info: { has_next_page: false } } : page.body;
    const when = ({ created_at }: RunItem) => (out.isTerminal ? ago(created_at) : created_at);
    out.list<RunItem>({
      ...{ document, rows: runs, id: ({ run_id }) => run_id, emptyMessage: "No runs." },
      columns: [
        { title: "RUN", text: ({ run_id }) => run_id },
        {
          title: "STATE",
          text: ({ state }) => state,
          paint: (text, { state }) => paintState(state, out.style)(text),
        },
        { title: "TITLE", text: ({ title }) => title, canShrink: true },
        { title: "NAME", text: ({ agent_config }) => agent_config.name, canShrink: true },
        { title: "COST", text: ({ usage }) => (usage.cost_usd > 0 ? dollars(usage.cost_usd) : "") },
        { title: "CREATED", text: when },
        { title: "PULL REQUEST", text: pullRequestText },
      ],
    });
    const { next_cursor } = page.body.page_info;
    if (!flags.all && next_cursor && !out.isJson)
      out.note(`More runs: use --cursor ${sanitizeLine(next_cursor)}, or --all.`);
  }),
);
