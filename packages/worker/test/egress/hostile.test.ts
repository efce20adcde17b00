import { testHostileClients } from "./suite/hostile.ts";
import { onLoopback } from "./suite/proxy-access.ts";

testHostileClients(onLoopback);
