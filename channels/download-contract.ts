/** What every adapter with files to fetch does: a part of the suite in `contract.ts`. */
import { expect } from 'vitest';
import { TestHost } from '../src/testing/channel-host.ts';
import { type Case, readAll, write } from '../src/testing/channel-stage.ts';
import { until } from '../src/testing/fakes.ts';
import { SteadyClock } from '../src/testing/steady-clock.ts';

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = new SteadyClock().sleep(ms, timer.signal).then(
    () => Promise.reject(new Error(`not within ${ms} ms`)),
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}

/** A channel that was sent a file of half the size it may fetch. */
async function withFile({ platform, start }: Parameters<Case>[0]) {
  const host = new TestHost();
  const channel = await start(host);
  await write(platform, 'see this', { name: 'note.txt', bytes: Buffer.alloc(channel.limits.downloadBytes / 2, 'x') });
  const message = await until('the message arrived', () => host.accepted[0]);
  const [media] = message.media;
  const download = channel.download?.bind(channel);
  if (!media || !download) throw new Error('no file to fetch');
  return { channel, media, download };
}

export const DOWNLOAD_CASES = {
  'a file arrives as a reference whose bytes can be fetched': async ({ platform, start }) => {
    const host = new TestHost();
    const channel = await start(host);
    const bytes = Buffer.from('the bytes of a file');
    await write(platform, 'see this', { name: 'note.txt', bytes });
    const message = await until('the message arrived', () => host.accepted[0]);
    const [media] = message.media;
    if (!media || !channel.download) throw new Error('no file to fetch');
    expect(message.text).toBe('see this');
    // Absent where the platform names no files; prepare shows it to the agent.
    expect([undefined, 'note.txt']).toContain(media.name);
    const file = await channel.download(media, new AbortController().signal);
    expect(await readAll(file.bytes)).toEqual(bytes);
  },

  'a file that grows beyond the cap while it is read is cut off with GH1504': async ({ platform, start }) => {
    const host = new TestHost();
    const channel = await start(host);
    const bytes = Buffer.alloc(channel.limits.downloadBytes + 1);
    await write(platform, 'liar', { name: 'big.bin', bytes, statedSize: 10 });
    const message = await until('the message arrived', () => host.accepted[0]);
    const [media] = message.media;
    if (!media || !channel.download) throw new Error('no file to fetch');
    const read = async (): Promise<unknown> => {
      const file = await channel.download?.(media, new AbortController().signal);
      return file && readAll(file.bytes);
    };
    await expect(read()).rejects.toMatchObject({ code: 'GH1504' });
  },

  'fetching a file ends with its signal, before the answer and in the middle of it': async (stage) => {
    const { media, download } = await withFile(stage);
    const reason = new Error('/stop');
    await expect(download(media, AbortSignal.abort(reason))).rejects.toThrow();
    const stop = new AbortController();
    const file = await download(media, stop.signal);
    stop.abort(reason);
    const ended = readAll(file.bytes).then(
      () => 'read',
      () => 'broken off',
    );
    // What had arrived already may still be read.
    expect(['read', 'broken off']).toContain(await within(2_000, ended));
  },

  'stop does not wait for a file that nobody reads': async (stage) => {
    const { channel, media, download } = await withFile(stage);
    await download(media, new AbortController().signal);
    // As long as the gateway waits for it.
    await within(3_000, channel.stop());
  },

  'a file that cannot be fetched is GH1505': async ({ start }) => {
    const channel = await start(new TestHost());
    if (!channel.download) throw new Error('no download');
    await expect(channel.download({ kind: 'document', ref: 'gone' }, new AbortController().signal)).rejects.toMatchObject({
      code: 'GH1505',
    });
  },
} satisfies Record<string, Case>;
