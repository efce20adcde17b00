/**
 * The DNS server of a test cluster, which knows the addresses of services and nothing else:
 * `cluster-dns.ts ADDRESS KUBECONFIG`.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { ApiClient } from "./api-client.ts";

const HEADER_BYTES = 12;
const ADDRESS_TYPE = 1;
const NAME_ERROR = 3;

interface Question {
  name: string;
  type: number;
  /** Where the question ends in the message. */
  end: number;
}

function readQuestion(message: Buffer): Question {
  const labels: string[] = [];
  let offset = HEADER_BYTES;
  for (let length = message.readUInt8(offset); length > 0; length = message.readUInt8(offset)) {
    labels.push(message.toString("latin1", offset + 1, offset + 1 + length));
    offset += length + 1;
  }
  return { name: labels.join(".").toLowerCase(), type: message.readUInt16BE(offset + 1), end: offset + 5 };
}

/** Without an address, the name does not exist. */
function writeAnswer(message: Buffer, { type, end }: Question, address: string | undefined): Buffer {
  const hasAnswer = address !== undefined && type === ADDRESS_TYPE;
  const answer = Buffer.from(message.subarray(0, end));
  // An authoritative response, with the bit "recursion desired" of the request.
  answer.writeUInt16BE(0x8400 | (message.readUInt16BE(2) & 0x0100) | (address ? 0 : NAME_ERROR), 2);
  for (const [index, count] of [1, hasAnswer ? 1 : 0, 0, 0].entries())
    answer.writeUInt16BE(count, 4 + 2 * index);
  if (!hasAnswer) return answer;
  // A pointer to the name of the question, type A, class IN, 1 s and 4 bytes.
  const record = Buffer.from([
    0xc0,
    HEADER_BYTES,
    0,
    1,
    0,
    1,
    0,
    0,
    0,
    1,
    0,
    4,
    ...address.split(".").map(Number),
  ]);
  return Buffer.concat([answer, record]);
}

async function findAddress(api: ApiClient, name: string): Promise<string | undefined> {
  const [, service, namespace] = /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc\.cluster\.local$/.exec(name) ?? [];
  if (!service) return undefined;
  const found = await api.get(`/api/v1/namespaces/${namespace}/services/${service}`);
  return (found as { spec?: { clusterIP?: string } } | undefined)?.spec?.clusterIP;
}

async function serve(address: string, kubeconfig: string): Promise<void> {
  const api = new ApiClient(kubeconfig);
  const socket = createSocket("udp4", async (message, { address: client, port }) => {
    const question = readQuestion(message);
    socket.send(writeAnswer(message, question, await findAddress(api, question.name)), port, client);
  });
  socket.bind(53, address);
  await once(socket, "listening");
}

const [, , address = "", kubeconfig = ""] = process.argv;
await serve(address, kubeconfig);
