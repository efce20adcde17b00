export interface Token {
  text: string;
  /** A CSS variable from theme.css, so that the same tokens work in both themes. */
  color?: string;
}

export interface HighlightRequest {
  id: number;
  text: string;
  path: string;
}

export interface HighlightResponse {
  id: number;
  tokens: Token[][] | undefined;
}

type Resolve = (tokens: Token[][] | undefined) => void;

let worker: Worker | undefined;
let lastId = 0;
const pending = new Map<number, Resolve>();

/** Returns each line's tokens, or undefined if the code cannot be highlighted. A worker thread computes them. */
export function highlight(text: string, path: string): Promise<Token[][] | undefined> {
  worker ??= start();
  const id = ++lastId;
  worker.postMessage({ id, text, path } satisfies HighlightRequest);
  return new Promise((resolve) => {
    pending.set(id, resolve);
  });
}

function start(): Worker {
  const started = new Worker(new URL("./highlight-worker.ts", import.meta.url), { type: "module" });
  started.addEventListener("message", ({ data }: MessageEvent<HighlightResponse>) => {
    pending.get(data.id)?.(data.tokens);
    pending.delete(data.id);
  });
  started.addEventListener("error", () => {
    for (const resolve of pending.values()) resolve(undefined);
    pending.clear();
    // The next request tries again, for example after the server was unreachable.
    started.terminate();
    worker = undefined;
  });
  return started;
}
