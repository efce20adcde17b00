import { type Answer, callResult, initializeResult, listResult, response } from "./attack.ts";
import { attacks } from "./attacks.ts";

/** Returns the answer to a request. Undefined for a method that no server of this test supports. */
export function answerTo(attackName: string, method: string): Answer | undefined {
  const attack = attacks[attackName];
  if (!attack) throw new Error(`There is no attack "${attackName}".`);
  switch (method) {
    case "initialize":
      return attack.initialize ?? ((id) => [response(id, initializeResult)]);
    case "tools/list":
      return attack.list ?? ((id) => [response(id, listResult)]);
    case "tools/call":
      return attack.call ?? ((id) => [response(id, callResult)]);
  }
}
