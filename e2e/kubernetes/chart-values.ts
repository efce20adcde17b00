/** Values with which the tests render and install the chart. */

const server = {
  publicUrl: "https://outrider.example.com",
  masterKey: { existingSecret: "outrider-master-key" },
  tls: { existingSecret: "outrider-tls" },
};
const key = { existingSecret: "outrider-worker-key" };

/** The fewest values with an external database and bucket. */
export const externalValues = {
  server,
  postgresql: { external: { existingSecret: "outrider-database" } },
  storage: { external: { url: "s3://bucket/outrider", existingSecret: "outrider-bucket" } },
  workerDefaults: { key },
};

/** The fewest values with the bundled database and S3 server. */
export const bundledValues = {
  server,
  postgresql: { bundled: { enabled: true, existingSecret: "outrider-database" } },
  storage: { bundled: { enabled: true, existingSecret: "outrider-bucket" } },
  workerDefaults: { key },
};

const scheduling = {
  nodeSelector: { disk: "ssd" },
  tolerations: [{ key: "dedicated", operator: "Exists" }],
  affinity: { podAntiAffinity: {} },
  topologySpreadConstraints: [
    {
      ...{ maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway" },
      labelSelector: { matchLabels: { "app.kubernetes.io/component": "server" } },
    },
  ],
  priorityClassName: "important",
};

/** Everything that the chart can do. */
export const allValues = {
  fullnameOverride: "agents",
  imagePullSecrets: [{ name: "registry" }],
  commonLabels: { team: "platform" },
  commonAnnotations: { "example.com/owner": "platform" },
  server: {
    ...{ ...server, tls: {}, trustedProxies: ["10.0.0.0/8"], ...scheduling },
    ...{ env: { OUTRIDER_KEEP_RUNS_DAYS: 90 }, envFrom: [{ secretRef: { name: "model-keys" } }] },
    ...{ modelsConfigMap: "models", harnessesConfigMap: "harnesses" },
    ...{ podLabels: { tier: "web" }, podAnnotations: { "example.com/scrape": "true" } },
    autoscaling: { enabled: true },
  },
  ingress: {
    ...{ enabled: true, className: "nginx", host: "outrider.example.com" },
    ...{ tls: { existingSecret: "certificate" }, annotations: { "example.com/buffering": "off" } },
  },
  postgresql: { external: { existingSecret: "outrider-database", directUrlKey: "direct" } },
  storage: { external: { url: "s3://bucket/outrider", endpoint: "https://s3.example.com", region: "eu" } },
  workerDefaults: {
    ...{ key, serverUrl: "https://outrider.example.com" },
    registry: { repository: "registry.example.com/outrider/builds", existingSecret: "builds-registry" },
  },
  workers: [
    { name: "default", replicas: 3, labels: { region: "eu", ssd: "true" } },
    {
      ...{ name: "gpu", pool: "gpu", slots: 4, ...scheduling, env: { OUTRIDER_LOG_LEVEL: "debug" } },
      pod: { runtimeClassName: "gvisor", hostUsers: false, nodeSelector: { gpu: "true" } },
      sandbox: { systemImage: "registry.example.com/system:1" },
      autoscaling: { enabled: true, minReplicas: 0, existingSecret: "outrider-admin-key" },
    },
  ],
  sandboxes: { namespace: "sandboxes" },
  networkPolicy: { serverIngressFrom: [{ namespaceSelector: { matchLabels: { name: "ingress" } } }] },
};
