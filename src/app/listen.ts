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
