/** Browsers of sessions with everything real but the daemon around them: sandbox, chromium, proxy. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Connector } from '../egress/connect.ts';
import type { EgressRules } from '../egress/destination.ts';
import { ForwardProxy } from '../egress/forward-proxy.ts';
import { systemClock } from '../lib/clock.ts';
import { packageRoot } from '../lib/package-info.ts';
import { childWorker } from '../sandbox/connect.ts';
import { WorkerSpawner } from '../sandbox/spawner.ts';
import { Browsers } from '../tools/browser/sessions.ts';
import { MemoryLogger } from './fakes.ts';
import { ANYWHERE } from './web-peer.ts';

export interface TestBrowsers extends AsyncDisposable {
  readonly browsers: Browsers;
  readonly logger: MemoryLogger;
  /** Of all programs that were started, the marks in their environments. */
  readonly marks: readonly string[];
}

export function testBrowsers({
  connector = {},
  hasNetwork = false,
  maxBytes = 1024 ** 3,
  rules = () => ANYWHERE,
}: {
  readonly connector?: Connector;
  /** Whether the sandbox leaves the browser our network; its flags alone then keep it from that. */
  readonly hasNetwork?: boolean;
  readonly maxBytes?: number;
  readonly rules?: () => EgressRules;
}): TestBrowsers {
  const logger = new MemoryLogger();
  const marks: string[] = [];
  const newId = (): string => {
    const id = randomUUID();
    marks.push(id);
    return id;
  };
  const spawner = new WorkerSpawner({
    connect: childWorker({ main: join(packageRoot(), 'src/cli/main.ts'), path: '/usr/bin:/bin', logger }),
    confinement: () => ({ mode: 'bwrap', network: true, readable: [], hidden: [] }),
    book: { add: async () => undefined, remove: async () => undefined, left: async () => [] },
    ...{ newId, clock: systemClock, logger },
  });
  const browsers = new Browsers({
    spawner: { run: (program, signal) => spawner.run({ ...program, network: hasNetwork }, signal) },
    ...{ clock: systemClock, logger, judge: () => undefined },
    proxy: () => new ForwardProxy({ ...connector, clock: systemClock, rules, maxBytes }),
  });
  return {
    ...{ browsers, logger, marks },
    async [Symbol.asyncDispose]() {
      await browsers[Symbol.asyncDispose]();
      spawner[Symbol.dispose]();
    },
  };
}
