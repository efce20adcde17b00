import { expect, test } from "vitest";
import { explainClusterError } from "../../src/sandboxes/kubernetes/cluster/errors.ts";

const context = { address: "https://cluster:6443", namespace: "agents", action: "create pods" };
const response = (code: number, message: string) => ({ code, body: JSON.stringify({ message }) });

test.each([
  [response(401, "Unauthorized"), "forbidden", "does not accept the worker's credentials. Renew"],
  [
    response(403, 'pods is forbidden: User "w" cannot create resource "pods"'),
    "forbidden",
    "The worker's account may not create pods in the namespace agents: pods is forbidden: User",
  ],
  [
    response(
      403,
      'pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
    ),
    "quota_exceeded",
    "The quota of the namespace agents is used up: ",
  ],
  [
    response(403, 'pods "x" is forbidden: violates PodSecurity "restricted:latest"'),
    "rejected",
    'The cluster refused to create pods: pods "x" is forbidden: violates PodSecurity',
  ],
  [
    response(
      403,
      'pods "x" is forbidden: unable to create new content in namespace agents because it is being terminated',
    ),
    "configuration",
    "Somebody is deleting the namespace agents, so",
  ],
  [
    response(404, 'namespaces "agents" not found'),
    "configuration",
    "The cluster has no namespace agents. Create",
  ],
  [response(404, "pods not found"), "not_found", "does not have this object"],
  [response(409, "exists"), "conflict", "refused to create pods: exists. Start the run again."],
  [response(503, "etcdserver: timeout"), "unreachable", "failed to create pods: etcdserver: timeout."],
  [
    Object.assign(new TypeError("fetch failed"), { cause: new Error("connect ECONNREFUSED 127.0.0.1:1") }),
    "unreachable",
    "https://cluster:6443 cannot be reached: connect ECONNREFUSED 127.0.0.1:1. Check",
  ],
  [Object.assign(new Error("x"), { name: "TimeoutError" }), "unreachable", "did not respond in time"],
])("a failure of the API server is explained (%#)", (error, code, text) => {
  const explained = explainClusterError(error, context);
  expect(explained).toMatchObject({ code, message: expect.stringContaining(text) });
  expect(explained.message).toMatch(/\.$/);
});

test.each([
  [409, 'Operation cannot be fulfilled on resourcequotas "q": the object has been modified', true],
  [503, "etcdserver: timeout", true],
  [403, 'pods "x" is forbidden: exceeded quota: q', false],
])("another attempt can work after the status %s: %s", (status, message, isRecoverable) => {
  expect(explainClusterError(response(status, message), context)).toMatchObject({ isRecoverable });
});
