import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Egress } from '../core/egress.ts';
import type { Clock } from '../core/ports.ts';
import type { Connector } from '../egress/connect.ts';
import type { EgressRules } from '../egress/destination.ts';
import { createEgress } from '../egress/egress.ts';
import { SteadyClock } from './steady-clock.ts';

export const ANYWHERE: EgressRules = { allowDomains: [], denyDomains: [], privateOrigins: [] };

/** The ranges for documentation are not public, so this is one of a real site. Nothing connects to it. */
const PUBLIC = '93.184.216.34';

export interface SeenRequest {
  readonly host: string | undefined;
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface WebPeer extends AsyncDisposable {
  /** Every name is public and leads to this peer; all else of the egress is as in the daemon. */
  readonly egress: Egress;
  /** What leads its connections to this peer. */
  readonly connector: Connector;
  readonly seen: readonly SeenRequest[];
  /** Names that a resolver was asked for, in order. */
  readonly lookedUp: readonly string[];
  /** Addresses that were connected to, in order. */
  readonly dialled: readonly string[];
}

/**
 * The web as one server on 127.0.0.1. Names and public addresses of any host and port lead to it, by a dial
 * that stands where TCP would; what is refused before is never dialled.
 */
export async function webPeer(
  answer: (request: SeenRequest, response: ServerResponse) => void,
  {
    rules = ANYWHERE,
    clock = new SteadyClock(),
    ...connector
  }: Connector & { readonly rules?: EgressRules; readonly clock?: Clock } = {},
): Promise<WebPeer> {
  const seen: SeenRequest[] = [];
  const lookedUp: string[] = [];
  const dialled: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url, headers } = request;
    const one = { host: headers.host, method, url, headers, body: Buffer.concat(chunks).toString() };
    seen.push(one);
    answer(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const toPeer: Connector = {
    resolve: async (name) => {
      lookedUp.push(name);
      return [{ address: PUBLIC, family: 4 }];
    },
    ...connector,
    dial: (_to, addresses) => {
      dialled.push(...addresses.map(({ address }) => address));
      return connect(port, '127.0.0.1');
    },
  };
  const egress = createEgress({ ...toPeer, clock, userAgent: 'Gatehouse test', rules: () => rules });
  return {
    ...{ egress, connector: toPeer, seen, lookedUp, dialled },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
