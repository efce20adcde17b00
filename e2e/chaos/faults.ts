import { setTimeout as pause } from "node:timers/promises";
import type { Installation } from "./installation.ts";
import type { PlannedFault } from "./plan.ts";

/** Injects one fault and reverts it. Once this resolves, the target is healthy or restarting. */
export async function injectFault(installation: Installation, fault: PlannedFault): Promise<void> {
  const { database, processes, proxies, pods } = installation;
  if (fault.target === "database") {
    if (fault.type === "kill") return database.kill();
    database.signal("SIGSTOP");
    await pause(fault.ms);
    return database.signal("SIGCONT");
  }
  if (fault.type === "disconnect") {
    const proxy = proxies[fault.target];
    proxy.disconnect(fault.mode === "reset" ? "reset" : "stalled");
    await pause(fault.ms);
    if (fault.mode === "stalled, then reset") proxy.disconnect("reset");
    return proxy.restore();
  }
  if (fault.target === "pod") return pods?.deleteOne();
  if (fault.target === "kube-apiserver" || fault.target === "kubelet") {
    await pods?.cluster.kill(fault.target);
    await pause(fault.ms);
    return pods?.cluster.start(fault.target);
  }
  const child = processes[fault.target];
  switch (fault.type) {
    case "kill":
      await child?.kill();
      await pause(fault.ms);
      return child?.start();
    case "pause":
      child?.signal("SIGSTOP");
      await pause(fault.ms);
      return child?.signal("SIGCONT");
    case "restart":
      // The process exits after its shutdown, and its supervisor starts it again.
      return child?.signal("SIGTERM");
    case "redirect":
      return installation.redirectWorker(fault.target);
  }
}
