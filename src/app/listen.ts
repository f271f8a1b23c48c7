import type { LoadedConfig } from '../../config/load.ts';
import { GatehouseError } from '../core/errors.ts';
import { type HttpServer, type HttpServerOptions, startHttpServer } from '../http/server.ts';

/** Where a daemon listens for health and status unless its config names a port. */
const USUAL_PORT = 7780;

export interface Listening {
  readonly http: HttpServer;
  /** The port that is taken; another one is used. */
  readonly takenPort?: number;
}

/**
 * Rejects where `listen` would: with GH1101 for a bad address, with GH1004 for a port that is named and
 * taken. Asked before anything is begun, because what restarts the daemon repeats its logins and model calls.
 */
export async function checkListen({ host, port = 0 }: LoadedConfig['config']['gateway']['http']): Promise<void> {
  await using _tried = await startHttpServer({ host, port, routes: {}, guarded: { token: '', routes: {} } });
}

/**
 * Listens on the configured port, and rejects with GH1004 when that is taken: a monitor would ask whatever is
 * there. Without one on the usual port, or on any free one where another gatehouse has that already.
 */
export async function listen(
  { host, port }: LoadedConfig['config']['gateway']['http'],
  answers: Pick<HttpServerOptions, 'routes' | 'guarded'>,
): Promise<Listening> {
  if (port !== undefined) return { http: await startHttpServer({ host, port, ...answers }) };
  try {
    return { http: await startHttpServer({ host, port: USUAL_PORT, ...answers }) };
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code !== 'GH1004') throw error;
    return { http: await startHttpServer({ host, port: 0, ...answers }), takenPort: USUAL_PORT };
  }
}
