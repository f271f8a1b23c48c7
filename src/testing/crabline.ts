/** The independent Bot API emulator (`@openclaw/crabline`): the adapter must agree with such a peer, too. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTelegramServer } from '@openclaw/crabline';

/** A call the emulator recorded, uploads with their file name in place of the bytes. */
export interface CrablineCall {
  readonly method: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface CrablineTelegram extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /**
   * Injects a message; rejects when the emulator refuses it. Fields: chatId, fromId, fromName, text,
   * entities, chatType, isForum, messageThreadId.
   */
  inject(message: Readonly<Record<string, unknown>>): Promise<void>;
  /** Calls that send something and were accepted, oldest first. */
  sends(): Promise<readonly CrablineCall[]>;
}

export async function startCrablineTelegram(): Promise<CrablineTelegram> {
  // It syncs a record of every call; in memory that takes half the time, and no test here is about its disk.
  const dir = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'gatehouse-crabline-'));
  const recorderPath = join(dir, 'telegram.jsonl');
  const server = await startTelegramServer({ recorderPath, botUsername: 'gatehouse_bot' });
  const { manifest } = server;
  return {
    url: manifest.endpoints.apiRoot,
    token: manifest.botToken,
    async inject(message) {
      const response = await fetch(manifest.endpoints.adminInboundUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-crabline-admin-token': manifest.adminToken, connection: 'close' },
        body: JSON.stringify(message),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`the emulator refused the message: ${response.status} ${text}`);
    },
    async sends() {
      const lines = (await readFile(recorderPath, 'utf8')).split('\n').filter((line) => line !== '');
      return lines.map(toCall).filter((call) => call !== undefined);
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function toCall(line: string): CrablineCall | undefined {
  const event = JSON.parse(line) as { path?: string; accepted?: boolean; body?: Record<string, unknown> };
  const method = /\/bot[^/]+\/(send(?!ChatAction)\w+)$/.exec(event.path ?? '')?.[1];
  return method !== undefined && event.accepted === true ? { method, body: event.body ?? {} } : undefined;
}
