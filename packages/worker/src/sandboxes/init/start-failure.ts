import { constants } from "node:os";

const { EAGAIN, ENOMEM, EMFILE, ENFILE, ENOENT, EACCES, E2BIG, ENAMETOOLONG } = constants.errno;
/** The step of a start that failed, in the order of `enum step` in outrider-init. */
const steps = [
  "create a process",
  "change the user",
  "enter the folder",
  "open a terminal",
  "run the program",
  "filter the system calls",
];

/** Thrown when a sandbox has so many processes that a command cannot start. */
export class ProcessLimitError extends Error {
  override name = "ProcessLimitError";
  constructor() {
    super("The sandbox has reached its process limit. Stop commands that are still running.");
  }
}

/** Returns why init could not start a command. The message is one sentence that says what to do. */
export function startFailure(error: number, step: number): Error {
  const isStarting = step === 0;
  if (isStarting && error === EAGAIN) return new ProcessLimitError();
  return new Error(describe(error, step, isStarting));
}

function describe(error: number, step: number, isStarting: boolean): string {
  if (isStarting && (error === EMFILE || error === ENFILE))
    return "Too many processes of earlier commands are running in the sandbox. Stop some of them.";
  if (error === ENOMEM)
    return "The sandbox is out of memory. Stop processes that earlier commands left running.";
  // gVisor returns the second one.
  if (error === E2BIG || (steps[step] === "run the program" && error === ENAMETOOLONG))
    return "The command and its environment are longer than Linux allows. Put large values into files.";
  const name =
    Object.entries(constants.errno).find(([, number]) => number === error)?.[0] ?? `error ${error}`;
  const hint = error === ENOENT || error === EACCES ? " Check that it exists in the environment." : "";
  return `The sandbox could not ${steps[step] ?? "start the command"} (${name}).${hint}`;
}
