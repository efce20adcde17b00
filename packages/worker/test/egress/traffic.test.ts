import { onLoopback } from "./suite/proxy-access.ts";
import { testTraffic } from "./suite/traffic.ts";

testTraffic(onLoopback);
