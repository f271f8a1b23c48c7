import type { LookupAddress } from 'node:dns';
import { lookup as lookUp } from 'node:dns/promises';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { settledOrAborted } from '../lib/time-limit.ts';
import type { Destination } from './destination.ts';
import { isPublicAddress } from './public-address.ts';

/** Every address of a name. Rejects when there is none. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export interface Connector {
  /** Default: as all programs of this machine do. Called once for a connection. */
  readonly resolve?: Resolve;
  /** Addresses of this machine itself, which may be public ones. Default: those of its interfaces. */
  readonly ownAddresses?: () => readonly string[];
  /** Certificates that are trusted, as PEM. Default: those of this system. */
  readonly ca?: string;
  /** Begins a connection to one of these addresses, which were checked. Default: by TCP. */
  readonly dial?: Dial;
}

export type Dial = (to: Destination, addresses: readonly LookupAddress[]) => Socket;

/** It must not be connected to. The message is a sentence for the model. */
export class RefusedAddress extends Error {
  constructor() {
    // Not which address: what names of the operator's own network lead to is not the model's to know.
    super('it leads to an address that is not public');
    this.name = 'RefusedAddress';
  }
}

/**
 * A connection of its own to `to`, never one that stood before. The name is looked up once, every answer is
 * checked, and one of these very addresses is connected to: a name that means something else the next moment
 * changes nothing. Nothing of the environment stands between (proxies). Rejects with `RefusedAddress`, with
 * the error of the look-up or of the connection, or with the reason of the signal.
 */
export async function connectTo(to: Destination, connector: Connector, signal: AbortSignal): Promise<Socket> {
  const { resolve = resolveHere, ownAddresses = addressesOfInterfaces, dial = dialTcp, ca } = connector;
  const family = isIP(to.host);
  const found = family === 0 ? await settledOrAborted(resolve(to.host), signal) : [{ address: to.host, family }];
  if (found.length === 0) throw new Error('the name has no address');
  if (!to.mayBePrivate) {
    const own = ownAddresses();
    if (!found.every(({ address }) => isPublicAddress(address) && !own.includes(address))) throw new RefusedAddress();
  }
  signal.throwIfAborted();
  const tcp = dial(to, found);
  await ready(tcp, tcp, 'connect', signal);
  if (!to.isTls) return tcp;
  const servername = family === 0 ? { servername: to.host } : {};
  const trusted = ca === undefined ? {} : { ca };
  // Said here, so that no variable of the environment can turn the check off.
  const tls = connectTls({
    socket: tcp,
    host: to.host,
    ...servername,
    ...trusted,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
  });
  await ready(tls, tcp, 'secureConnect', signal);
  return tls;
}

/** To none but these addresses: the name is not looked up again. */
function dialTcp({ host, port }: Destination, addresses: readonly LookupAddress[]): Socket {
  const lookup: LookupFunction = (_host, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
  return connectTcp({ host, port, lookup, autoSelectFamily: true, noDelay: true });
}

/** Destroys both when the connection does not come to stand. */
async function ready(socket: Socket, below: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      const settle = (error?: Error): void => {
        signal.removeEventListener('abort', onAbort);
        socket.off('error', settle).off('close', onClose).off(event, onReady);
        if (error) reject(error);
        else resolve();
      };
      const onReady = (): void => settle();
      const onClose = (): void => settle(new Error('the connection was closed before it stood'));
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      socket.once('error', settle).once('close', onClose).once(event, onReady);
    });
  } catch (error) {
    // One that is given up may still fail, which nothing would listen to.
    for (const each of [socket, below]) each.on('error', () => undefined).destroy();
    throw error;
  }
}

async function resolveHere(host: string): Promise<readonly LookupAddress[]> {
  return await lookUp(host, { all: true });
}

function addressesOfInterfaces(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}
