import { testProxy } from "../egress/suite/proxy.ts";
import { inSandboxOf } from "../egress/suite/proxy-access.ts";
import { testTcpForwards } from "../egress/suite/tcp-forwards.ts";
import { dockerPlace } from "./docker-places.ts";

testProxy(inSandboxOf(dockerPlace));
testTcpForwards(dockerPlace);
