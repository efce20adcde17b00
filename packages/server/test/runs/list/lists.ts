import { expect } from "vitest";
import type { TestServer } from "../../server.ts";
import { expectedRuns, type Parameters } from "./oracle.ts";
import type { Member, Seed, SeededRun } from "./seed.ts";

export interface Page {
  runs: SeededRun[];
  page_info: { has_next_page: boolean; next_cursor?: string };
}

export interface Lists {
  page(query: string, key?: string): Promise<Page>;
  /** Page after page. Every page but the last is full, and only the last has no cursor. */
  walk(parameters: Parameters, limit: number): Promise<SeededRun[]>;
  /** The expected list, for the admin or another user. */
  expectedIds(parameters: Parameters, asker?: Member): string[];
  /** Compares the list with the expected one and returns its length. No list of the seed exceeds the largest page. */
  expectSame(parameters: Parameters, asker?: Member): Promise<number>;
}

const LARGEST_PAGE = 500;

export const idsOf = (runs: { run_id: string }[]) => runs.map(({ run_id }) => run_id);

export function queryOf(parameters: Parameters): string {
  return parameters
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&");
}

/** The other way round, for queries that are easier to read as one text. */
export function parametersOf(query: string): Parameters {
  return [...new URLSearchParams(query)];
}

export function listsOf(server: TestServer, { team, runs: seeded }: Seed): Lists {
  const [admin] = team;
  async function page(query: string, key = server.key): Promise<Page> {
    const { status, body, text } = await server.call("GET", `/agent/runs?${query}`, { key });
    if (status !== 200) throw new Error(`${query}: ${text}`);
    return body;
  }
  const expectedIds = (parameters: Parameters, asker = admin) =>
    idsOf(expectedRuns(seeded, { parameters, team, asker: asker.uid }));
  return {
    page,
    expectedIds,
    async walk(parameters, limit) {
      const all: SeededRun[] = [];
      let cursor: Parameters = [];
      for (let isFirst = true; ; isFirst = false) {
        const { runs, page_info } = await page(queryOf([...parameters, ["limit", String(limit)], ...cursor]));
        all.push(...runs);
        if (!page_info.has_next_page) {
          expect(page_info).toEqual({ has_next_page: false });
          expect(runs.length > 0 || isFirst).toBe(true);
          return all;
        }
        expect(runs).toHaveLength(limit);
        cursor = [["cursor", page_info.next_cursor as string]];
      }
    },
    async expectSame(parameters, asker = admin) {
      const { runs, page_info } = await page(
        queryOf([...parameters, ["limit", String(LARGEST_PAGE)]]),
        asker.key,
      );
      expect({ parameters, ids: idsOf(runs) }).toEqual({ parameters, ids: expectedIds(parameters, asker) });
      expect(page_info).toEqual({ has_next_page: false });
      return runs.length;
    },
  };
}
