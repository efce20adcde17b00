export interface BuildRegistrySettings {
  /** The registry and the repository, such as `registry.example.com/outrider/builds`. */
  name: string;
  /** `user:token`, or the content of Docker's `config.json`, with the rights to pull and push. */
  credentials?: string | undefined;
}

/** How to reach the Kubernetes cluster that runs sandboxes, and what its pods consist of. */
export interface KubernetesSettings {
  /** The namespace of the pods. Default: that of the worker's own pod, else of the context, else `default`. */
  namespace?: string | undefined;
  /** The image with outrider-init and the worker's sandbox programs. Without it, the provider cannot be opened. */
  systemImage?: string | undefined;
  /** The path of a YAML or JSON file with what operators set on pods (kubernetes/pods/pod-options.ts). */
  podFile?: string | undefined;
  /** The path of a kubeconfig file. Default: the service account of the worker's own pod, else ~/.kube/config. */
  kubeconfig?: string | undefined;
  /** A context of the kubeconfig file. Default: its current one. */
  context?: string | undefined;
  /** Where builds become images. Without it, each sandbox receives its build from its worker. */
  registry?: BuildRegistrySettings | undefined;
}
