import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import type { MediaFile } from '../core/channel.ts';
import type { MediaRef } from '../core/message.ts';
import { gate, inbound, tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { workspaceLock } from '../workspace/workspace-lock.ts';
import { fetchFile } from './fetch-file.ts';

/** Heeds no abort: `download` never answers, or what it answers with ends in the middle of the file. */
class DeafChannel extends TestChannel {
  readonly when: 'before the answer' | 'in the middle';
  fetching = false;

  constructor(when: DeafChannel['when']) {
    super('test');
    this.when = when;
  }

  override async download(): Promise<MediaFile> {
    this.fetching = true;
    if (this.when === 'before the answer') return await new Promise(() => undefined);
    return {
      bytes: (async function* () {
        yield Buffer.from('half');
        await new Promise(() => undefined);
      })(),
    };
  }
}

test.each(['before the answer', 'in the middle'] as const)(
  'F30 an adapter that ignores an abort %s of a download holds up nobody after /stop, and leaves no file',
  async (when) => {
    await using dir = await tempDir();
    const channel = new DeafChannel(when);
    const model = scriptedModel(['still here']);
    await using rig = await testDaemon({ dataDir: dir.path, model, channel });
    await channel.deliver({ text: 'read this', media: [{ kind: 'document', ref: 'f' }] });
    await until('it is fetched', () => channel.fetching);
    await channel.deliver({ text: '/stop' });
    await channel.deliver({ text: 'are you there?' });
    await until('the next message is answered', () => channel.texts().includes('still here'));
    await rig.daemon.gateway.idle();
    const files = await readdir(dir.path, { recursive: true });
    expect(files.filter((name) => name.includes('uploads/'))).toEqual([]);
  },
);

test.each([
  ['is said', { size: 600_000 }],
  ['is not said', {}],
])(
  'a file for which there is no room is refused where its size %s: the sender is told what to do, and nothing of it is left',
  async (_, about) => {
    await using dir = await tempDir();
    const channel = new TestChannel('test', { downloadBytes: 1_000_000 });
    const gateway = { channels: [{ type: 'test', allowed_senders: ['*'] }] };
    const config = configSchema.parse({ disk: { person_mb: 1 }, gateway });
    await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel(['one', 'two']), channel, daemon: { config } });
    for (const ref of ['a', 'b']) {
      channel.files.set(ref, Buffer.alloc(600_000));
      await channel.deliver({ text: ref, media: [{ kind: 'document', ref, ...about }] });
      await rig.daemon.gateway.idle();
    }
    expect(channel.texts()).toEqual([
      'one',
      expect.stringMatching(/^two\n+⚠️ File: there is no room for a file \(GH1508\); the operator can raise the limits/),
    ]);
    const files = await readdir(dir.path, { recursive: true });
    expect(files.filter((name) => name.includes('uploads/'))).toHaveLength(1);
  },
);

/** What it sends of a file breaks off after 600 kB, the first time. */
class BreakingChannel extends TestChannel {
  #broke = false;

  override async download(media: MediaRef): Promise<MediaFile> {
    if (this.#broke) return await super.download(media);
    this.#broke = true;
    return {
      bytes: (async function* () {
        yield Buffer.alloc(600_000);
        throw new Error('the connection broke');
      })(),
    };
  }
}

test.each([
  ['is said', { size: 600_000 }],
  ['is not said', {}],
])('the room of a file that could not be fetched, where its size %s, is there for the next one', async (_, about) => {
  await using dir = await tempDir();
  const channel = new BreakingChannel('test', { downloadBytes: 1_000_000 });
  const gateway = { channels: [{ type: 'test', allowed_senders: ['*'] }] };
  const config = configSchema.parse({ disk: { person_mb: 1 }, gateway });
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel(['one', 'two']), channel, daemon: { config } });
  for (const ref of ['a', 'b']) {
    channel.files.set(ref, Buffer.alloc(600_000));
    await channel.deliver({ text: ref, media: [{ kind: 'document', ref, ...about }] });
    await rig.daemon.gateway.idle();
  }
  expect(channel.texts()).toEqual([expect.stringMatching(/^one\n+⚠️ File: .*GH1505/), 'two']);
});

/** Fetches nothing once it was stopped. */
class StoppableChannel extends TestChannel {
  override async download(media: MediaRef): Promise<MediaFile> {
    if (!this.host) throw new Error('the channel is stopped');
    return await super.download(media);
  }
}

test('a message whose channel broke waits with its files until the next one is there', async () => {
  await using dir = await tempDir();
  const channel = new StoppableChannel('test');
  channel.files.set('f', Buffer.from('notes'));
  const held = gate();
  const model = scriptedModel(() => held.opened.then(() => 'done'));
  await using rig = await testDaemon({ dataDir: dir.path, model, channel });
  await channel.deliver({ platformId: '1', text: 'first' });
  await channel.deliver({ platformId: '2', text: 'read this', media: [{ kind: 'document', ref: 'f', mime: 'text/plain' }] });
  channel.host?.ended(new Error('a defect'));
  await until('it was stopped', () => channel.host === undefined);
  held.open();
  await until('both are asked', () => model.requests.length === 2);
  await rig.daemon.gateway.idle();
  const asked = JSON.stringify(model.requests[1]?.messages.at(-1)?.content);
  expect(asked).toContain('File: uploads/');
  expect(asked).not.toContain('GH1505');
});

test('a new file is stored while a program runs that was allowed, and one that replaces another waits for its end', async () => {
  await using dir = await tempDir();
  const channel = new TestChannel('test');
  const { signal } = new AbortController();
  const fetchOf = async (id: string, words: string) => {
    channel.files.set('f', Buffer.from(words));
    const message = inbound({ id });
    return await fetchFile(message, { kind: 'document', ref: 'f', name: 'a.sh' }, 0, {
      ...{ channel: async () => channel, workspace: dir.path, signal },
    });
  };
  const { path } = await fetchOf('m1', 'one');
  const program = await workspaceLock.alone({ workspace: dir.path, idempotencyKey: 'program', signal }, 60_000);
  await fetchOf('m2', 'another');
  const again = fetchOf('m1', 'two');
  await sleep(100);
  expect(await readFile(join(dir.path, path), 'utf8')).toBe('one');
  program[Symbol.dispose]();
  await again;
  expect(await readFile(join(dir.path, path), 'utf8')).toBe('two');
});

test('a file that was stored and could not be noted is told as not fetched, and nothing of it is left or counted', async () => {
  await using dir = await tempDir();
  const channel = new TestChannel('test');
  channel.files.set('f', Buffer.from('notes'));
  const stored: number[] = [];
  const uploads = {
    claim: async () => ({
      cover: async () => undefined,
      stored: (bytes: number) => stored.push(bytes),
      [Symbol.dispose]: () => undefined,
    }),
    note: () => Promise.reject(new Error('the disk is full')),
  };
  const { signal } = new AbortController();
  const options = { channel: async () => channel, workspace: dir.path, uploads, signal };
  const fetched = fetchFile(inbound(), { kind: 'document', ref: 'f', name: 'a.txt' }, 0, options);
  await expect(fetched).rejects.toMatchObject({ code: 'GH1505' });
  expect([await readdir(join(dir.path, 'uploads')), stored]).toEqual([[], []]);
});
