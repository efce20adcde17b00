import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";
import { idsOf, type Lists, listsOf, queryOf } from "./list/lists.ts";
import { createRandom } from "./list/random.ts";
import { type Seed, seedRuns } from "./list/seed.ts";
import { randomSearch } from "./list/words.ts";

let server: TestServer;
let seed: Seed;
let lists: Lists;

beforeAll(async () => {
  server = await testServer();
  seed = await seedRuns(server);
  lists = listsOf(server, seed);
});
afterAll(() => server.stop());

describe("a search", () => {
  test("finds exactly what the definition says, in 150 random queries", async () => {
    const random = createRandom(3);
    const counts: number[] = [];
    for (let round = 0; round < 150; round++) {
      const q = randomSearch(random);
      if (q !== "") counts.push(await lists.expectSame([["q", q]]));
    }
    expect(counts.filter((count) => count > 0 && count < seed.runs.length).length).toBeGreaterThan(75);
  });

  test.each([
    ["a word", "parser"],
    ["a word in other letters", "PARSER"],
    ["the beginning of a word", "par"],
    ["a word of the prompt alone", "kubernetes"],
    ["a word of the skill", "acme"],
    ["a slip in a title", "databsae"],
    ["two words in any order", "notes release"],
    ["words of title, prompt and skill", "parser explain acme"],
    ["words in other scripts", "привет"],
    ["a word with an umlaut, in capitals", "GRÖßE"],
    ["a ligature by its letters", "file"],
    ["letters by their ligature", "ﬁle"],
    ["wide letters by narrow ones", "afull"],
    ["characters without spaces", "数据"],
    ["a phrase in quotes", '"release notes"'],
    ["one quote", "o'brien"],
    ["a backslash", "back\\slash"],
    ["operators of a text search", "parser & !notes | (explain:*)"],
    ["a prefix operator", "pars:*"],
    ["wildcards", "pars% _arser"],
    ["a number", "2026"],
  ])("for %s finds matching runs", async (_, q) => {
    expect(await lists.expectSame([["q", q]])).toBeGreaterThan(0);
  });

  test.each([
    ["the end of a word, which is no beginning", "bernetes"],
    ["a slip in a word of the prompt, which is not forgiven", "kubernetas"],
    ["a slip in a number, which is not forgiven", "2027"],
    ["a slip in a word of three letters, which is not forgiven", "мит"],
    ["a slip in three letters that take six units of UTF-16", "𠀀𠀁𠀃"],
    ["two words of which one is nowhere", "parser unfindable"],
    ["a word that is longer than any", "p".repeat(200)],
    ["an attempt at SQL", "'; drop table runs; --"],
    ["punctuation", "!!!"],
    ["a quote", "'"],
    ["a double quote", '"'],
    ["a backslash alone", "\\"],
    ["operators alone", ":*&|!()<->"],
    ["wildcards alone", "%_"],
    ["a picture", "🦊"],
    ["white space", " \n "],
  ])("for %s finds nothing", async (_, q) => {
    expect(await lists.expectSame([["q", q]])).toBe(0);
  });

  test("finds the first words of a prompt whose normalized form is four times as long", async () => {
    const letters = ["㌖", "㌕", "㍐", "㌫"];
    const words = Array.from({ length: 8_000 }, (_, index) =>
      Array.from({ length: 10 }, (_, place) => letters[Math.floor(index / 4 ** place) % 4]).join(""),
    );
    const prompt = ["needle", "針", ...words].join(" ");
    const { body } = await server.call("POST", "/agent/run", { body: { prompt } });
    for (const word of ["needle", "針", words[0], words[1_000]]) {
      expect(idsOf((await lists.page(queryOf([["q", word as string]]))).runs)).toEqual([body.run_id]);
    }
    await server.db`delete from runs where run_id = ${body.run_id}`;
  });
});
