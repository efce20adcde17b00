import type { ListRunsParams, RunItem } from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { gather } from "../../gather.ts";
import { environmentId } from "../../input/named.ts";
import { asNumber, collect, given, pairsOf } from "../../input/pairs.ts";
import { ago, dollars } from "../../terminal/figures.ts";
import { harmlessLine } from "../../terminal/harmless.ts";
import { paintState } from "../../transcript/summary.ts";

interface ListFlags {
  limit: number;
  all?: true;
  cursor?: string;
  sort?: "created_at" | "updated_at" | "title";
  ascending?: true;
  state?: string[];
  name?: string[];
  model?: string[];
  creator?: string[];
  source?: string[];
  env?: string[];
  skill?: string[];
  createdAfter?: string;
  createdBefore?: string;
  updatedAfter?: string;
  metadata?: string[];
  search?: string;
}

export const listCommand = clientCommand("list", "List runs, recent ones first.")
  .option("--limit <number>", "how many", asNumber("--limit"), 20)
  .addOption(new Option("--all", "all of them, page after page").conflicts("cursor"))
  .option("--cursor <cursor>", "where the page before ended")
  .addOption(new Option("--sort <by>", "else by created_at").choices(["created_at", "updated_at", "title"]))
  .option("--ascending", "the other way round")
  .option("--state <state>", "QUEUED, INPROGRESS, BLOCKED, SUCCEEDED, FAILED, CANCELLED; repeatable", collect)
  .option("--name <label>", "as given to `run --name`; repeatable", collect)
  .option("--model <id>", "as resolved; repeatable", collect)
  .option("--creator <who>", "a uid, an e-mail address, or me; repeatable", collect)
  .option("--source <source>", "WEB_APP, CLI, GITHUB_ACTION, API; repeatable", collect)
  .option("--env <environment>", "by name or id; repeatable", collect)
  .option("--skill <spec>", "as given to `run --skill`; repeatable", collect)
  .option("--created-after <time>", "a date or a time, inclusive")
  .option("--created-before <time>", "a date or a time, exclusive")
  .option("--updated-after <time>", "a date or a time, inclusive")
  .option("--metadata <key=value>", "repeatable; all must match", collect)
  .option("--search <words>", "in title, prompt and skill")
  .action(
    withClient<ListFlags>(async ({ client, out, flags }) => {
      const environments = flags.env?.map((each) => environmentId(client, each));
      const query = given({
        limit: flags.all ? 500 : flags.limit,
        cursor: flags.cursor,
        sort_by: flags.sort,
        sort_order: flags.ascending && "asc",
        state: flags.state?.map((state) => state.toUpperCase()),
        name: flags.name,
        model_id: flags.model,
        creator: flags.creator,
        source: flags.source?.map((source) => source.toUpperCase()),
        environment_id: environments && (await Promise.all(environments)),
        skill_spec: flags.skill,
        created_after: flags.createdAfter,
        created_before: flags.createdBefore,
        updated_after: flags.updatedAfter,
        metadata: flags.metadata && pairsOf("--metadata", flags.metadata),
        q: flags.search,
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
