/** The independent Discord emulator (`@openclaw/crabline`). */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDiscordServer } from '@openclaw/crabline';

export interface DiscordCall {
  readonly method: string;
  /** Without `/api/v10`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface DiscordPeer extends AsyncDisposable {
  /** API root without the version. */
  readonly url: string;
  readonly origin: string;
  readonly token: string;
  readonly botId: string;
  readonly guildId: string;
  /** A channel of that server. */
  readonly channelId: string;
  /**
   * A person writes. Fields: channelId, guildId, parentChannelId, senderId, senderName, content,
   * message_reference. Resolves to the message.
   */
  inject(message: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>;
  /** REST calls that were accepted, oldest first. */
  calls(): Promise<readonly DiscordCall[]>;
}

export async function startDiscordPeer(): Promise<DiscordPeer> {
  // It syncs a record of every call; in memory that takes half the time, and no test here is about its disk.
  const dir = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'gatehouse-discord-'));
  const recorderPath = join(dir, 'discord.jsonl');
  const server = await startDiscordServer({ recorderPath, botUsername: 'gatehouse' });
  const { manifest } = server;
  return {
    url: manifest.endpoints.apiRoot,
    origin: manifest.baseUrl,
    token: manifest.botToken,
    botId: manifest.botUserId,
    guildId: manifest.fixture.guildId,
    channelId: manifest.fixture.channelId,
    async inject(message) {
      const response = await fetch(manifest.endpoints.adminInboundUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-crabline-admin-token': manifest.adminToken, connection: 'close' },
        body: JSON.stringify(message),
      });
      const answer = (await response.json()) as { message?: unknown };
      if (!response.ok) throw new Error(`the emulator refused the message: ${response.status} ${JSON.stringify(answer)}`);
      return answer.message as Readonly<Record<string, unknown>>;
    },
    async calls() {
      const lines = (await readFile(recorderPath, 'utf8')).split('\n').filter((line) => line !== '');
      return lines.map(toCall).filter((call) => call !== undefined);
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function toCall(line: string): DiscordCall | undefined {
  const event = JSON.parse(line) as { method: string; path?: string; accepted?: boolean; body?: Record<string, unknown> };
  const path = /^\/api\/v10(\/.*)$/.exec(event.path ?? '')?.[1];
  return path !== undefined && event.accepted === true ? { method: event.method, path, body: event.body ?? {} } : undefined;
}
