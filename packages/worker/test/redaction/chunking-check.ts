import { Redactor } from "../../src/redaction/redact.ts";
import { RandomTexts, redactInChunks, secretSets, seededRandom } from "./random-texts.ts";

/** Redacts random texts in one piece and in chunks. Returns the first texts whose results differ. */
export function findChunkingErrors(seed: string, rounds: number): string[] {
  const random = seededRandom(seed);
  const texts = new RandomTexts(random);
  const redactors = secretSets.map((secrets) => ({ secrets, redactor: new Redactor(secrets) }));
  const errors: string[] = [];
  for (let round = 0; round < rounds && errors.length < 3; round++) {
    const { secrets, redactor } = texts.pick(redactors);
    const text = texts.text(secrets);
    const preserve = texts.pick(["nothing", "lines", "patch"] as const);
    const whole = redactInChunks(redactor.byteStream({ preserve }), text, {
      average: text.length,
      random: () => 1,
    });
    for (const average of [1, 3, 20]) {
      const chunked = redactInChunks(redactor.byteStream({ preserve }), text, { average, random });
      if (!chunked.equals(whole))
        errors.push(
          `${JSON.stringify(secrets)} in ${JSON.stringify(text.toString("latin1"))}, keeping ${preserve}`,
        );
    }
  }
  return errors;
}
