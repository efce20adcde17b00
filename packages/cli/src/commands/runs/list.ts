import type { ListRunsParams, RunItem } from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { collectPages } from "../../input/collect-pages.ts";
import { numberParser, omitUndefined } from "../../input/pairs.ts";
import { findView } from "../../input/resolve-names.ts";
import { addRunFilter, buildRunFilter, type RunFilterFlags } from "../../input/run-filter.ts";
import { ago, dollars } from "../../terminal/format.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";
import { paintState } from "../../transcript/summary.ts";

interface ListFlags extends RunFilterFlags {
  limit: number;
  all?: true;
  cursor?: string;
  sort?: NonNullable<ListRunsParams["sort_by"]>;
  ascending?: true;
  view?: string;
  total?: true;
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
      "cost",
      "duration",
    ]),
  )
  .option("--ascending", "sort in ascending order")
  .option("--view <view>", "name or ID of a saved view; other filters replace its filters")
  .option("--total", "also print the number of all matching runs");

/** Returns the newest pull request, such as "#12 merged". */
function pullRequestText({ pull_requests: [newest] = [] }: RunItem): string | undefined {
  return newest && `#${newest.number} ${newest.state}`;
}

export const listCommand = addRunFilter(
  command,
  "QUEUED, INPROGRESS, BLOCKED, SUCCEEDED, FAILED or CANCELLED",
).action(
  withClient<ListFlags>(async ({ client, out, flags }) => {
    const view = flags.view === undefined ? undefined : await findView(client, flags.view);
    const query = omitUndefined({
      ...view?.query,
      limit: flags.all ? 500 : flags.limit,
      cursor: flags.cursor,
      sort_by: flags.sort ?? view?.sort?.by,
      sort_order: flags.ascending ? "asc" : flags.sort ? undefined : view?.sort?.order,
      include_total: flags.total,
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
    const { total } = page.body;
    if (total && !out.isJson) out.note(`Total: ${total.is_exact ? "" : "more than "}${total.count}`);
    const { next_cursor } = page.body.page_info;
    if (!flags.all && next_cursor && !out.isJson)
      out.note(`More runs: use --cursor ${sanitizeLine(next_cursor)}, or --all.`);
  }),
);
