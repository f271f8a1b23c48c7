/** The independent emulator of the Web API and signed events, with which the adapter must agree, too. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSlackServer } from '@openclaw/crabline';

type Json = Readonly<Record<string, unknown>>;

export interface CrablineSlack extends AsyncDisposable {
  readonly apiRoot: string;
  readonly botToken: string;
  readonly signingSecret: string;
  /**
   * A person writes. Fields: channel, user, text, threadTs, ts. Rejects when the emulator refuses it;
   * resolves to the message.
   */
  inject(message: Json): Promise<Json>;
  /** Bodies of the messages it accepted from the bot, oldest first. */
  sends(): Promise<readonly Json[]>;
}

export async function startCrablineSlack(
  eventsRequestUrl: string,
  chatPostMessageRateLimit?: { remaining: number; retryAfterSeconds: number },
): Promise<CrablineSlack> {
  // It syncs a record of every call; in memory that takes half the time, and no test here is about its disk.
  const dir = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'gatehouse-crabline-'));
  const recorderPath = join(dir, 'slack.jsonl');
  const server = await startSlackServer({ recorderPath, eventsRequestUrl, botUserId: 'U0BOT', chatPostMessageRateLimit });
  const { manifest } = server;
  return {
    apiRoot: manifest.endpoints.apiRoot,
    botToken: manifest.botToken,
    signingSecret: manifest.signingSecret,
    async inject(message) {
      const response = await fetch(manifest.endpoints.adminInboundUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-crabline-admin-token': manifest.adminToken, connection: 'close' },
        body: JSON.stringify(message),
      });
      const answer = (await response.json()) as { ok?: boolean; message?: Json; error?: string };
      if (!answer.ok || !answer.message) throw new Error(`the emulator refused the message: ${answer.error}`);
      return answer.message;
    },
    async sends() {
      const lines = (await readFile(recorderPath, 'utf8')).split('\n').filter((line) => line !== '');
      return lines
        .map((line) => JSON.parse(line) as { path?: string; accepted?: boolean; body?: Json })
        .filter((event) => event.path === '/api/chat.postMessage' && event.accepted === true)
        .map((event) => event.body ?? {});
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
