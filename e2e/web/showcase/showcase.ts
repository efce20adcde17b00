import { vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import type { WebApp } from "../support/web-app.ts";
import { discounts, load, migration, question, shopSetup, short } from "./scripts.ts";

export interface Showcase {
  /** A run with commands, changes and a plan. */
  finished: string;
  blocked: string;
  working: string;
  failed: string;
  environment: string;
  /** The path of a share link to the finished run. */
  shared: string;
}

/** Fills an installation with environments, users, keys and runs in every state. */
export async function fillShowcase(app: WebApp): Promise<Showcase> {
  const make = async (path: string, body: object) => {
    const { status, text, body: made } = await app.call("POST", path, { body });
    if (status >= 300) throw new Error(`POST ${path}: ${text}`);
    return made;
  };
  for (const [name, value] of Object.entries({
    STAGING_TOKEN: "staging-0000",
    PACKAGES_TOKEN: "packages-0000",
  })) {
    await app.call("PUT", `/agent/secrets/${name}`, { body: { value } });
  }
  const shop = await make("/agent/environments", {
    name: "web-shop",
    description: "The shop's cart and checkout, with their tests.",
    setup_commands: shopSetup,
    variables: { STAGE: "staging" },
    secrets: ["STAGING_TOKEN"],
    timeout_minutes: 30,
  });
  const other = {
    network: { mode: "allowlist", allow: ["registry.example.com"] },
    secrets: ["PACKAGES_TOKEN"],
  };
  const api = await make("/agent/environments", {
    name: "payments-api",
    description: "Payments, with a database of its own.",
    repos: [{ url: "https://git.example.com/shop/payments.git", ref: "main" }],
    setup_commands: ["npm ci", "npm run migrate"],
    max_concurrent_runs: 2,
    ...other,
  });
  await make("/agent/environments", {
    name: "docs-site",
    description: "The handbook.",
    setup_commands: ["mkdir -p pages"],
  });
  const bot = await make("/agent/identities", {
    name: "release-bot",
    description: "Cuts releases every Tuesday.",
    environment_id: shop.environment_id,
  });
  await make("/agent/identities", {
    name: "dependency-bot",
    description: "Keeps packages current.",
    max_concurrent_runs: 1,
  });
  for (const [email, display_name, role] of [
    ["release@example.com", "Release manager", "admin"],
    ["review@example.com", "Reviewer", "member"],
    ["docs@example.com", "Docs writer", "member"],
  ]) {
    await make("/users", { email, display_name, role });
  }
  const botKey = await make("/keys", { name: "release-bot, nightly", type: "agent", agent_uid: bot.uid });
  await make("/keys", {
    ...{ name: "web shop CI", type: "personal", scopes: ["runs:read", "runs:write"] },
    limits: { max_concurrent_runs: 4, max_cost_usd_per_day: 20, environment_ids: [shop.environment_id] },
    expires_at: new Date(Date.now() + 80 * 86_400_000).toISOString(),
  });
  await make("/keys", { name: "status board", type: "personal", scopes: ["runs:read"] });
  await make("/keys", { name: "rack 2", type: "worker" });

  const config = { environment_id: shop.environment_id };
  const inShop = (title: string, script: string[]) => app.create(script, { title, config });
  const byBot = async (title: string, script: string[]) => {
    const response = await fetch(`${app.origin}/api/v1/agent/run`, {
      method: "POST",
      headers: { authorization: `Bearer ${botKey.key}`, "content-type": "application/json" },
      body: JSON.stringify({ title, prompt: script.join("\n"), config }),
    });
    return ((await response.json()) as { run_id: string }).run_id;
  };
  await app.worker({ name: "builder-1", version: "0.1.0", slots: 3 });
  const finished = await inShop("Fix the rounding of discounts in the cart", discounts);
  const failed = await inShop("Move the order table to the new schema", migration);
  const blocked = await inShop("Rename total to sumOf, everywhere", question);
  const ended = [
    await byBot(
      "Cut release 4.12",
      short("Cut release 4.12 and write its notes.", "echo '4.12' > VERSION && cat VERSION"),
    ),
    await inShop(
      "Explain why checkout is slow on Mondays",
      short("Explain why checkout is slow on Mondays."),
    ),
    await byBot(
      "Update the changelog for 4.12",
      short("Update the changelog.", "echo '## 4.12' > CHANGELOG.md"),
    ),
    await inShop(
      "Document the environment variables of the shop",
      short("Document the variables.", "env | sort | head -5"),
    ),
    await inShop("Remove feature flags that nobody reads", short("Remove dead feature flags.")),
  ];
  await Promise.all([
    ...[finished, ...ended].map((run) => app.until(run, "SUCCEEDED")),
    app.until(failed, "FAILED"),
    app.until(blocked, "BLOCKED"),
  ]);
  const working = await inShop("Run the load test for the staging cart", load);
  const second = await byBot("Verify the release candidate", load);
  const third = await inShop("Watch the canary for ten minutes", load);
  for (const run of [working, second, third]) {
    await app.event(run, ({ type, data }) => type === "command.output" && data.text.includes("200 requests"));
  }
  await addDrainingWorker(app);
  await inShop("Add cursor pagination to the order list", short("Add cursor pagination."));
  const cancelled = await inShop("Rewrite the cart in another language", short("Rewrite the cart."));
  await app.call("POST", `/agent/runs/${cancelled}/cancel`);
  await app.create(short("Upgrade the payment client to its next version."), {
    config: { environment_id: api.environment_id },
  });
  const { body: share } = await app.call("POST", `/agent/runs/${finished}/share`, { body: {} });
  await backdateUsers(app);
  await addUsage(app, shop.environment_id);
  await spreadOverTime(app, [finished, failed, ...ended, cancelled]);
  return {
    ...{ finished, blocked, working, failed, environment: shop.environment_id },
    shared: new URL(share.link).pathname,
  };
}

/** Adds a draining worker. It claims no runs, so that runs created afterwards stay queued. */
async function addDrainingWorker(app: WebApp) {
  const { workerId } = await app.worker({ name: "builder-2", version: "0.1.0", slots: 4 });
  const drain = () => app.call("POST", `/workers/${workerId}/drain`);
  // The server knows the worker from its first claim on.
  await vi.waitUntil(async () => (await drain()).status === 200, waitOptions);
}

/** Backdates workers and users, which were all created a minute ago. */
async function backdateUsers({ db }: WebApp) {
  await db`update workers set first_seen_at = outrider_now() - interval '3 days'`;
  await db`
    update users set created_at = outrider_now() - interval '40 days',
      last_seen_at = case email
        when 'release@example.com' then outrider_now() - interval '2 hours'
        when 'review@example.com' then outrider_now() - interval '1 day'
        else last_seen_at end`;
}

/** Counts runs of the past two months, which lists do not show, so that Insights has something to show. */
async function addUsage({ db }: WebApp, environmentId: string) {
  await db`
    insert into usage_changes (created_at, changed_at, environment_id, model_id, creator_type, creator_uid, source, to_state,
      to_error, to_seconds, wait_seconds, cost_usd, input_tokens, output_tokens, run_seconds)
    select at, at, case when n % 5 > 0 then ${environmentId}::uuid end, (array['large-model', 'small-model'])[1 + (n % 3 > 0)::int],
      'user', (select uid from users order by email offset n % 4 limit 1), 'API', state,
      case when state = 'FAILED' then (array['timeout', 'harness_failed'])[1 + n % 2] end, seconds, wait, seconds / 900.0,
      seconds * 800, seconds * 50, seconds
    from (
      select n, outrider_now() - (60 - 60 * sqrt(n / 900.0)) * interval '1 day' - (n * 37 % 10) * interval '1 hour' as at,
        case when n % 11 = 3 then 'FAILED' when n % 23 = 5 then 'CANCELLED' else 'SUCCEEDED' end as state,
        20 + n * 131 % 700 as seconds, 0.5 + n * 17 % 9 as wait
      from generate_series(1, 900) n
    ) seeded`;
  // The server counts them within a few seconds.
  await vi.waitUntil(async () => {
    const [row] = await db`select count(*)::int as waiting from usage_changes`;
    return row?.waiting === 0;
  }, waitOptions);
}

const SLOWER = 45;

/** Spreads the runs over the past days and stretches their events, which took only a second, to a realistic pace. */
async function spreadOverTime({ db }: WebApp, runs: string[]) {
  for (const [index, run] of runs.entries()) {
    const hours = [0.4, 1.6, 3, 5, 21, 27, 46, 70][index] ?? 90;
    await db.begin(async (tx) => {
      const [row] = await tx`select created_at from runs where run_id = ${run}`;
      const base = row?.created_at as string;
      const moved = (column: string) =>
        tx`${base}::timestamptz - ${hours} * interval '1 hour' + (${tx(column)} - ${base}::timestamptz) * ${SLOWER}`;
      await tx`update events set created_at = ${moved("created_at")} where run_id = ${run}`;
      await tx`
        update runs set created_at = ${moved("created_at")}, updated_at = ${moved("updated_at")},
          started_at = ${moved("started_at")}, finished_at = ${moved("finished_at")}
        where run_id = ${run}`;
      await tx`
        update run_state set working_at = ${moved("working_at")}, first_output_at = ${moved("first_output_at")},
          queued_at = ${moved("queued_at")}
        where run_id = ${run}`;
    });
  }
}
