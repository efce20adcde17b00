import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "./plan.ts";
import type { World } from "./world.ts";

/** Lets one fault happen, and pass: all is healthy again when this resolves, or on its way to be. */
export async function strike(world: World, fault: Fault): Promise<void> {
  const { database, parts, links } = world;
  if (fault.target === "database") {
    if (fault.type === "kill") return database.kill();
    database.signal("SIGSTOP");
    await pause(fault.ms);
    return database.signal("SIGCONT");
  }
  if (fault.type === "cut") {
    const link = links[fault.target];
    link.cut(fault.how === "broken" ? "broken" : "silent");
    await pause(fault.ms);
    if (fault.how === "silent, then broken") link.cut("broken");
    return link.heal();
  }
  const part = parts[fault.target];
  switch (fault.type) {
    case "kill":
      await part?.kill();
      await pause(fault.ms);
      return part?.start();
    case "stop":
      part?.signal("SIGSTOP");
      await pause(fault.ms);
      return part?.signal("SIGCONT");
    case "restart":
      // It ends in its own time, and is started again then.
      return part?.signal("SIGTERM");
    case "move":
      return world.move(fault.target);
  }
}
