import type { ListRunsParams, RunItem } from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { gather } from "../../gather.ts";
import { asNumber, given } from "../../input/pairs.ts";
import { addRunFilter, type RunFilterFlags, runFilterOf } from "../../input/run-filter.ts";
import { ago, dollars } from "../../terminal/figures.ts";
import { harmlessLine } from "../../terminal/harmless.ts";
import { paintState } from "../../transcript/summary.ts";

interface ListFlags extends RunFilterFlags {
  limit: number;
  all?: true;
  cursor?: string;
  sort?: "created_at" | "updated_at" | "title";
  ascending?: true;
}

const command = clientCommand("list", "List runs, recent ones first.")
  .option("--limit <number>", "how many", asNumber("--limit"), 20)
  .addOption(new Option("--all", "all of them, page after page").conflicts("cursor"))
  .option("--cursor <cursor>", "where the page before ended")
  .addOption(new Option("--sort <by>", "else by created_at").choices(["created_at", "updated_at", "title"]))
  .option("--ascending", "the other way round");

export const listCommand = addRunFilter(
  command,
  "QUEUED, INPROGRESS, BLOCKED, SUCCEEDED, FAILED, CANCELLED",
).action(
  withClient<ListFlags>(async ({ client, out, flags }) => {
    const query = given({
      limit: flags.all ? 500 : flags.limit,
      cursor: flags.cursor,
      sort_by: flags.sort,
      sort_order: flags.ascending && "asc",
      ...(await runFilterOf(client, flags)),
      // What a state or source may be, the API says.
    }) as ListRunsParams;
    const page = await client.runs.list(query);
    const runs = flags.all ? await gather(page) : page.items;
    const document = flags.all ? { runs, page_info: { has_next_page: false } } : page.body;
    const when = ({ created_at }: RunItem) => (out.isTerminal ? ago(created_at) : created_at);
    out.list<RunItem>({
      ...{ document, rows: runs, id: ({ run_id }) => run_id, none: "No runs." },
      columns: [
        { title: "RUN", text: ({ run_id }) => run_id },
        {
          title: "STATE",
          text: ({ state }) => state,
          paint: (text, { state }) => paintState(state, out.style)(text),
        },
        { title: "TITLE", text: ({ title }) => title, gives: true },
        { title: "NAME", text: ({ agent_config }) => agent_config.name, gives: true },
        { title: "COST", text: ({ usage }) => (usage.cost_usd > 0 ? dollars(usage.cost_usd) : "") },
        { title: "CREATED", text: when },
      ],
    });
    const { next_cursor } = page.body.page_info;
    if (!flags.all && next_cursor && !out.isJson)
      out.say(`More: --cursor ${harmlessLine(next_cursor)}, or --all.`);
  }),
);
