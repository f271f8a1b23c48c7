import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { isErrno } from '../lib/errno.ts';

/** Below what systems hand out for port 0 (Linux from 32,768, macOS and IANA from 49,152). */
const [FIRST, LAST] = [10_000, 32_000];

/**
 * A port of 127.0.0.1 that is not listened on now, for a program that must be told one before it starts, or
 * that is to find none there. No server that asks for port 0 gets it later, as those of other tests do.
 */
export async function freePort(): Promise<number> {
  return (await freePorts(['port'])).port;
}

/** One such port for each name. All are held at once before any is given back, so none is given twice. */
export async function freePorts<const Name extends string>(names: readonly Name[]): Promise<Record<Name, number>> {
  const held = await Promise.all(names.map(hold));
  await Promise.all(held.map(({ server }) => once(server.close(), 'close')));
  return Object.fromEntries(names.map((name, index) => [name, held[index]?.port])) as Record<Name, number>;
}

async function hold(): Promise<{ port: number; server: Server }> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
      return { port, server };
    } catch (error) {
      if (!isErrno(error, 'EADDRINUSE')) throw error;
    }
  }
}
