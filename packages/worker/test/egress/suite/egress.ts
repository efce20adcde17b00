import type { Place } from "../../conformance/place.ts";
import { testHostileClients } from "./hostile.ts";
import { testProxy } from "./proxy.ts";
import { inSandboxOf } from "./proxy-access.ts";
import { testTcpForwards } from "./tcp-forwards.ts";
import { testTraffic } from "./traffic.ts";

/** The network policy, as commands in the sandboxes of a provider meet it. */
export function testEgress(place: Place): void {
  const access = inSandboxOf(place);
  testProxy(access);
  testTraffic(access);
  testHostileClients(access);
  testTcpForwards(place);
}
