import { once } from 'node:events';
import { createServer } from 'node:net';
import { isErrno } from '../lib/errno.ts';

/** Below what systems hand out for port 0 (Linux from 32,768, macOS and IANA from 49,152). */
const [FIRST, LAST] = [10_000, 32_000];

/**
 * A port of 127.0.0.1 that is not listened on now, for a program that must be told one before it starts, or
 * that is to find none there. No server that asks for port 0 gets it later, as those of other tests do.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if (isErrno(error, 'EADDRINUSE')) continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
