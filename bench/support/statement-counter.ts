import { connect, createServer, type Socket } from "node:net";

/*
 * A proxy in front of PostgreSQL that counts the statements that pass through it: simple queries (`Q`) and executions of
 * prepared ones (`E`). It sees everything that a server sends, on all its connections.
 */

const HEADER = 5;

export interface StatementCounter extends AsyncDisposable {
  port: number;
  count(): number;
  connections(): number;
}

export async function startStatementCounter(socketPath: string): Promise<StatementCounter> {
  let statements = 0;
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(socketPath);
    clients.add(client);
    const end = () => {
      clients.delete(client);
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) socket.on("error", end).on("close", end).setNoDelay(true);
    const countIn = messageCounter((type) => {
      if (type === "Q" || type === "E") statements++;
    });
    client.on("data", (data) => {
      countIn(data);
      database.write(data);
    });
    database.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    count: () => statements,
    connections: () => clients.size,
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Splits a client's data into messages. The first one, which starts the session, has no type. */
function messageCounter(onMessage: (type: string) => void): (data: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  let isStarted = false;
  return (data) => {
    pending = pending.length > 0 ? Buffer.concat([pending, data]) : data;
    for (;;) {
      const typeLength = isStarted ? 1 : 0;
      if (pending.length < HEADER) return;
      const length = typeLength + pending.readUInt32BE(typeLength);
      if (pending.length < length) return;
      if (isStarted) onMessage(String.fromCharCode(pending[0] as number));
      isStarted = true;
      pending = pending.subarray(length);
    }
  };
}
