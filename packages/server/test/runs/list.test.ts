import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countRunsUpTo } from "../../src/store/runs/run-list.ts";
import { type TestServer, testServer } from "../server.ts";
import { idsOf, type Lists, listsOf, parametersOf, queryOf } from "./list/lists.ts";
import type { Parameters } from "./list/oracle.ts";
import { createRandom } from "./list/random.ts";
import {
  configNames,
  DAY,
  errorCodes,
  FIRST_DAY,
  metadataValues,
  models,
  type Seed,
  seedRuns,
  skills,
  sources,
  states,
} from "./list/seed.ts";

let server: TestServer;
let seed: Seed;
let lists: Lists;

beforeAll(async () => {
  server = await testServer();
  seed = await seedRuns(server);
  lists = listsOf(server, seed);
});
afterAll(() => server.stop());

const sorts = ["created_at", "updated_at", "title", "cost", "duration"].flatMap((by) =>
  ["desc", "asc"].map((order) => parametersOf(`sort_by=${by}&sort_order=${order}`)),
);

/** For each filter values that match something, and where it can be one that matches nothing. */
function filters(): Record<string, string[]> {
  const [admin, member, other, bot] = seed.team;
  const nobody = "01890000-0000-7000-8000-000000000000";
  return {
    state: states,
    source: sources,
    model_id: [...models, "scripted-2", "nobody"],
    config_name: [...configNames, "review", "release-notes", "NIGHTLY"],
    name: [...configNames, "null"],
    environment_id: ["none", ...seed.environments, nobody],
    skill_spec: [...skills, "acme/skills:release"],
    artifact_type: ["PULL_REQUEST", "FILE", "PATCH"],
    pull_request_state: ["merged", "open", "draft", "closed"],
    error_code: ["none", ...errorCodes, "unknown"],
    creator: [
      admin.uid,
      bot.uid,
      other.uid.toUpperCase(),
      "me",
      "member@example.com",
      "nobody@example.com",
      nobody,
    ].concat(member.email as string, (other.email as string).toUpperCase()),
    created_after: [moment(3), moment(9), "2025-03-05", "2100-01-01"],
    created_before: [moment(3), moment(9), "2025-03-05T00:00:00+01:00", "2020-01-01"],
    updated_after: [moment(3), moment(9), "2025-03-20", "2100-01-01"],
    q: ["parser", "databse", "release notes", "kubern", "nothing"],
    ...Object.fromEntries(
      Object.entries(metadataValues).map(([key, values]) => [`metadata[${key}]`, [...values, "other"]]),
    ),
  };
}

const moment = (day: number) => new Date(FIRST_DAY + day * DAY + 21_599_999).toISOString();

describe("a filter", () => {
  test("selects exactly the matching runs, for each value", async () => {
    for (const [name, values] of Object.entries(filters())) {
      const counts: number[] = [];
      for (const value of values) counts.push(await lists.expectSame([[name, value]]));
      expect([name, Math.max(...counts) > 5]).toEqual([name, true]);
    }
  });

  test("that is repeated selects any of its values", async () => {
    const repeatable = Object.entries(filters()).slice(0, 11);
    expect(repeatable.map(([name]) => name)).toContain("creator");
    for (const [name, values] of repeatable) {
      await lists.expectSame(values.map((value) => [name, value]));
      await lists.expectSame([values[0], values[1], values[0]].map((value) => [name, value as string]));
    }
  });

  test("combined with another selects runs that match both, for all pairs", async () => {
    const random = createRandom(1);
    const all = Object.entries(filters());
    let found = 0;
    for (const [index, [name, values]] of all.entries()) {
      for (const [otherName, otherValues] of all.slice(index + 1)) {
        const pair: Parameters = [
          [name, random.pick(values.slice(0, 2))],
          [otherName, random.pick(otherValues.slice(0, 2))],
        ];
        found += await lists.expectSame([...pair, ...random.pick(sorts)]);
      }
    }
    expect(found).toBeGreaterThan(1_000);
  });

  test("by name is the same as by config_name, and both together select either", async () => {
    const count = (query: string) => lists.expectSame(parametersOf(query));
    expect(await count("name=nightly")).toBe(await count("config_name=nightly"));
    expect(await count("config_name=nightly&name=NULL")).toBe(
      (await count("name=nightly")) + (await count("name=NULL")),
    );
  });

  test("of up to five metadata pairs selects runs that have all of them", async () => {
    const five = Object.entries(metadataValues).map(([key, [value]]): [string, string] => [
      `metadata[${key}]`,
      value as string,
    ]);
    for (let pairs = 1; pairs <= 5; pairs++) await lists.expectSame(five.slice(0, pairs));
  });

  test("combined with several others selects runs that match all, in 60 random queries", async () => {
    const random = createRandom(2);
    const all = Object.entries(filters());
    for (let round = 0; round < 60; round++) {
      const chosen = random
        .some(all, 3 / all.length)
        .map(([name, values]): [string, string] => [name, random.pick(values)]);
      const parameters: Parameters = [...chosen, ...random.pick(sorts)];
      const runs = await lists.walk(parameters, 1 + random.below(40));
      expect({ parameters, ids: idsOf(runs) }).toEqual({ parameters, ids: lists.expectedIds(parameters) });
    }
  });
});

describe("a time", () => {
  const exact = moment(5);
  const at = () => seed.runs.filter(({ created_at }) => created_at === exact).map(({ run_id }) => run_id);
  const idsFor = async (query: string) => idsOf((await lists.page(`${query}&limit=500`)).runs);

  test("is inclusive in created_after and exclusive in created_before", async () => {
    expect(at().length).toBeGreaterThan(2);
    const next = new Date(Date.parse(exact) + 1).toISOString();
    expect((await idsFor(`created_after=${exact}&created_before=${next}`)).sort()).toEqual(at().sort());
    expect(await idsFor(`created_after=${exact}&created_before=${exact}`)).toEqual([]);
    expect(await idsFor(`created_after=${next}`)).toEqual(lists.expectedIds([["created_after", next]]));
  });

  test("may be a date, which means midnight UTC", async () => {
    const midnight = await idsFor(
      "created_after=2025-03-05T00:00:00.000Z&created_before=2025-03-06T00:00:00Z",
    );
    expect(midnight.length).toBeGreaterThan(5);
    expect(await idsFor("created_after=2025-03-05&created_before=2025-03-06")).toEqual(midnight);
  });

  test("may have an offset, even with an unescaped plus", async () => {
    const utc = await idsFor("created_after=2025-03-05T05:59:59.999Z");
    expect(utc).not.toEqual(await idsFor("created_after=2025-03-05T07:59:59.999Z"));
    for (const offset of ["07:59:59.999%2B02:00", "07:59:59.999+02:00", "03:29:59.999-02:30"]) {
      expect(await idsFor(`created_after=2025-03-05T${offset}`)).toEqual(utc);
    }
  });

  test("in updated_after is compared with the last change", async () => {
    const parameters = parametersOf(`updated_after=${moment(15)}&created_before=${moment(8)}`);
    expect(await lists.expectSame(parameters)).toBeGreaterThan(10);
  });
});

describe("visibility", () => {
  test("`me` is the caller", async () => {
    for (const member of seed.team)
      expect(await lists.expectSame([["creator", "me"]], member)).toBeGreaterThan(10);
  });

  test("members see all runs", async () => {
    const [, member] = seed.team;
    expect(await lists.expectSame([], member)).toBe(seed.runs.length);
  });

  test("a cloud agent sees only its own runs, whatever the filter", async () => {
    const [admin, , , bot, robot] = seed.team;
    expect(await lists.expectSame([], bot)).toBeGreaterThan(10);
    expect(await lists.expectSame([["creator", admin.uid]], bot)).toBe(0);
    await lists.expectSame(parametersOf(`creator=${admin.uid}&creator=me`), bot);
    await lists.expectSame(parametersOf("q=parser&sort_by=title"), robot);
  });
});

describe("pages", () => {
  test("have 20 runs, newest first, by default", async () => {
    const { runs, page_info } = await lists.page("");
    expect(idsOf(runs)).toEqual(lists.expectedIds([]).slice(0, 20));
    expect(page_info).toEqual({ has_next_page: true, next_cursor: expect.any(String) });
  });

  describe.each(sorts.map((sort) => [sort.map(([, value]) => value).join(" "), sort] as const))(
    "by %s",
    (_, sort) => {
      test.each([7, 50, 500])("of %i runs contain every run once, in order", async (limit) => {
        expect(idsOf(await lists.walk(sort, limit))).toEqual(lists.expectedIds(sort));
      });

      test("of one run contain every matching run once, in order", async () => {
        const parameters: Parameters = [["source", "CLI"], ...sort];
        expect(lists.expectedIds(parameters).length).toBeGreaterThan(50);
        expect(idsOf(await lists.walk(parameters, 1))).toEqual(lists.expectedIds(parameters));
      });
    },
  );

  test("may change their size between requests", async () => {
    const ids: string[] = [];
    let cursor = "";
    for (const limit of [1, 30, 2, 500]) {
      const { runs, page_info } = await lists.page(`sort_by=title&limit=${limit}${cursor}`);
      ids.push(...idsOf(runs));
      cursor = `&cursor=${page_info.next_cursor}`;
    }
    expect(ids).toEqual(lists.expectedIds([["sort_by", "title"]]));
  });

  test("that end exactly with the list have no next page", async () => {
    const { length } = lists.expectedIds(parametersOf("state=BLOCKED"));
    const { page_info } = await lists.page(`state=BLOCKED&limit=${length}`);
    expect(page_info).toEqual({ has_next_page: false });
  });

  test("work with titles of the maximum length", async () => {
    const titles = ["\u0001".repeat(256), "\u0001".repeat(256), "🦊".repeat(256)];
    const made = await Promise.all(
      titles.map((title) =>
        server.call("POST", "/agent/run", { body: { prompt: "x", title, metadata: { long: "1" } } }),
      ),
    );
    const walked = await lists.walk(parametersOf("metadata[long]=1&sort_by=title&sort_order=asc"), 1);
    expect(walked.map(({ title }) => title)).toEqual(titles);
    for (const { body } of made) await server.db`delete from runs where run_id = ${body.run_id}`;
  });

  test("of large runs are shorter, and the next pages have the rest", async () => {
    const large = { config: { base_prompt: "x".repeat(250_000) }, metadata: { large: "1" } };
    const ids: string[] = [];
    for (let made = 0; made < 20; made++) {
      const { status, body } = await server.call("POST", "/agent/run", { body: { prompt: "x", ...large } });
      expect(status).toBe(200);
      ids.unshift(body.run_id);
    }
    const first = await lists.page("metadata[large]=1&limit=500");
    const rest = await lists.page(`metadata[large]=1&limit=500&cursor=${first.page_info.next_cursor}`);
    await server.db`delete from runs where run_id = any(${ids}::uuid[])`;
    expect(idsOf(first.runs)).toEqual(ids.slice(0, 17));
    expect(idsOf(rest.runs)).toEqual(ids.slice(17));
    expect(rest.page_info).toEqual({ has_next_page: false });
  });
});

describe("a listed run", () => {
  test("has the first 2,000 characters of its prompt and is marked if truncated", async () => {
    const shown = async (prompt: string) => {
      const { body } = await server.call("POST", "/agent/run", { body: { prompt } });
      const { runs } = await lists.page("limit=1");
      await server.db`delete from runs where run_id = ${body.run_id}`;
      expect(runs[0]?.run_id).toBe(body.run_id);
      return runs[0];
    };
    const whole = "🦊é".repeat(1_000);
    const uncut = await shown(whole);
    expect(uncut).toMatchObject({ prompt: whole });
    expect(uncut).not.toHaveProperty("prompt_truncated");
    expect(await shown(`${whole}!`)).toMatchObject({ prompt: whole, prompt_truncated: true });
  });

  test("equals the run itself, without its artifacts", async () => {
    const { runs } = await lists.page("limit=500&sort_by=title");
    expect(runs.slice(0, 20).some((run) => "pull_requests" in run)).toBe(true);
    for (const run of runs.slice(0, 20)) {
      const { queue, timings, artifacts, ...whole } = (await server.call("GET", `/agent/runs/${run.run_id}`))
        .body;
      expect(run).toEqual(whole);
    }
  });
});

describe("the total", () => {
  const totalOf = async (query: string) => {
    const { body } = await server.call("GET", `/agent/runs?limit=1&${query}`);
    return body.total;
  };

  test("counts the matching runs of all pages, if asked for", async () => {
    expect(await totalOf("")).toBeUndefined();
    expect(await totalOf("include_total=false")).toBeUndefined();
    for (const query of [
      "",
      "state=FAILED",
      "q=parser",
      "creator=me&error_code=timeout",
      "metadata[long]=none",
    ])
      expect([query, await totalOf(`include_total=true&${query}`)]).toEqual([
        query,
        { count: lists.expectedIds(parametersOf(query)).length, is_exact: true },
      ]);
  });

  test("is not exact if there are more runs than it counts", async () => {
    const count = await countRunsUpTo(server.db, { state: ["FAILED"] }, 3);
    expect(count).toBe(4);
  });

  test("is absent if counting takes too long", async () => {
    const release = Promise.withResolvers<void>();
    const isLocked = Promise.withResolvers<void>();
    const locking = server.db.begin(async (tx) => {
      await tx`lock table runs in access exclusive mode`;
      isLocked.resolve();
      await release.promise;
    });
    await isLocked.promise;
    expect(await countRunsUpTo(server.db, {}, 3)).toBeUndefined();
    release.resolve();
    await locking;
  });
});

test("repositories select the runs of environments that have them", async () => {
  const environment = async (repos: object[]) => {
    const { body } = await server.call("POST", "/agent/environments", { body: { name: "repos", repos } });
    const config = { environment_id: body.environment_id };
    const run = await server.call("POST", "/agent/run", { body: { prompt: "repository", config } });
    return run.body.run_id as string;
  };
  const named = await environment([{ owner: "acme", repo: "api" }]);
  const both = await environment([
    { owner: "acme", repo: "web" },
    { url: "https://git.test/acme/api.git", path: "other" },
  ]);
  const found = async (...repositories: string[]) =>
    idsOf((await lists.page(queryOf(repositories.map((each) => ["repository", each])))).runs);
  expect(await found("acme/api")).toEqual([named]);
  expect(await found("https://git.test/acme/api.git")).toEqual([both]);
  expect(await found("https://github.com/acme/api.git", "acme/web")).toEqual([both, named]);
  expect(await found("acme/none")).toEqual([]);
  for (const run of [named, both]) {
    await server.call("POST", `/agent/runs/${run}/cancel`);
    await server.call("DELETE", `/agent/runs/${run}`);
  }
});

describe("while runs are created", () => {
  test.each(["desc", "asc"])("nothing is skipped or repeated (%s)", async (order) => {
    const [admin, member, other] = seed.team;
    let creating = 0;
    const create = async ({ key }: { key: string }) => {
      creating++;
      for (let count = 0; count < 40; count++) {
        await server.call("POST", "/agent/run", { body: { prompt: "more" }, key });
      }
      creating--;
    };
    const created = Promise.all([admin, member, other].map(create));
    const sort = parametersOf(`sort_by=created_at&sort_order=${order}`);
    const seeded = new Set(idsOf(seed.runs));
    while (creating > 0) {
      const before = await server.db<{ run_id: string }[]>`select run_id from runs`;
      const ids = idsOf(await lists.walk(sort, 25));
      expect(ids.filter((id) => seeded.has(id))).toEqual(lists.expectedIds(sort));
      const found = new Set(ids);
      expect(found.size).toBe(ids.length);
      expect(idsOf(before).filter((id) => !found.has(id))).toEqual([]);
    }
    await created;
  });
});
