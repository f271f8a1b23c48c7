/** Requests to webhooks that no platform signed: what strangers send who know the address. */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface UnsignedOptions {
  readonly count: number;
  /** They come at a steady rate in this time. ms. */
  readonly overMs: number;
}

export interface UnsignedRecord {
  /** Requests that got an answer. */
  readonly count: number;
  /** Of these, with a status of success. */
  readonly believed: number;
  /** Of these, by no channel: they prove nothing. */
  readonly strayed: number;
}

/** Requests that are under way at once, at most. */
const AT_ONCE = 50;
const BODY = 'A'.repeat(2_000);

/** To these addresses in turn. Resolves when each has been answered, or its connection was ended. */
export async function sendUnsigned(urls: readonly string[], { count, overMs }: UnsignedOptions): Promise<UnsignedRecord> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const started = performance.now();
  const answers: Promise<number>[] = [];
  for (let n = 0; n < count; n += 1) {
    const waitMs = started + (n * overMs) / count - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    answers.push(post(urls[n % urls.length] ?? '', agent));
  }
  const statuses = await Promise.all(answers);
  agent.destroy();
  return {
    count: statuses.filter((status) => status > 0).length,
    believed: statuses.filter((status) => status >= 200 && status < 300).length,
    strayed: statuses.filter((status) => status === 404).length,
  };
}

/** The status; 0 where there was none. */
function post(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': BODY.length };
    const call = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.once('close', () => resolve(response.statusCode ?? 0));
    });
    call.once('error', () => resolve(0));
    call.end(BODY);
  });
}
