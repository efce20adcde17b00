import type { CallOptions, Reply, TestServer } from "../server.ts";

export const tokenOf = (link: string) => link.split("#token=")[1] as string;

/** Keeps its cookie and sends an origin, like a browser on a page of the service. */
export interface Browser {
  cookie: string;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  open(link: string): Promise<Reply>;
  signIn(email: string, password: string): Promise<Reply>;
}

export function browser(server: Pick<TestServer, "call" | "origin">, origin = server.origin): Browser {
  const self: Browser = {
    cookie: "",
    async call(method, path, { headers = {}, ...options } = {}) {
      const reply = await server.call(method, path, {
        key: null,
        ...options,
        headers: { origin, ...(self.cookie ? { cookie: self.cookie } : {}), ...headers },
      });
      const [set] = reply.headers.getSetCookie();
      if (set) self.cookie = set.includes("Max-Age=0") ? "" : (set.split(";")[0] as string);
      return reply;
    },
    open: (link) => self.call("POST", "/auth/link", { body: { token: tokenOf(link) } }),
    signIn: (email, password) => self.call("POST", "/auth/sign-in", { body: { email, password } }),
  };
  return self;
}
