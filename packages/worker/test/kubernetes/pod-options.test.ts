import { expect, test } from "vitest";
import { parsePodOptions, readPodOptions } from "../../src/sandboxes/kubernetes/pods/pod-options.ts";

test("the operator's file sets nodes, runtime, secrets and labels of pods, in YAML or JSON", () => {
  const yaml = `
nodeSelector: { pool: sandboxes }
tolerations:
  - { key: sandboxes, operator: Exists, effect: NoSchedule }
runtimeClassName: gvisor
hostUsers: false
imagePullSecrets: [{ name: registry }]
priorityClassName: low
labels: { team: agents }
annotations: { note: "1" }
`;
  const options = parsePodOptions(yaml, "pod.yaml");
  expect(options).toEqual({
    nodeSelector: { pool: "sandboxes" },
    tolerations: [{ key: "sandboxes", operator: "Exists", effect: "NoSchedule" }],
    ...{ runtimeClassName: "gvisor", hostUsers: false, imagePullSecrets: [{ name: "registry" }] },
    ...{ priorityClassName: "low", labels: { team: "agents" }, annotations: { note: "1" } },
  });
  expect(parsePodOptions(JSON.stringify(options), "pod.json")).toEqual(options);
  expect(parsePodOptions("", "pod.yaml")).toEqual({});
  expect(readPodOptions(undefined)).toEqual({});
});

test.each([
  [
    "hostNetwork: true",
    'has fields that cannot be set: "hostNetwork". Allowed are nodeSelector, tolerations,',
  ],
  ["tolerations: [{ name: x }]", 'has fields that cannot be set: "tolerations.0.name". Allowed are'],
  ["hostUsers: maybe", "has an invalid value for hostUsers: "],
  ["a: [", "is neither YAML nor JSON: "],
])("a file with %j is refused", (text, message) => {
  expect(() => parsePodOptions(text, "pod.yaml")).toThrow(`The file pod.yaml of --kubernetes-pod ${message}`);
});

test("a file that does not exist is refused", () => {
  expect(() => readPodOptions("/no/such.yaml")).toThrow("cannot be read (ENOENT). Check the path.");
});
