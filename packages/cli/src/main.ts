import { Command } from "commander";
import { doctorCommand } from "./commands/doctor.ts";
import { personCommand } from "./commands/person.ts";
import { serveCommand } from "./commands/serve.ts";
import { workerCommand } from "./commands/worker.ts";

const program = new Command("outrider")
  .description("Runs coding agents on request.")
  .addCommand(serveCommand)
  .addCommand(workerCommand)
  .addCommand(personCommand)
  .addCommand(doctorCommand);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`outrider: ${(error as Error).message}`);
  process.exit(1);
}
