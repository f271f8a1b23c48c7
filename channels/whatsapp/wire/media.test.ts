/** Files: what is fetched from where, and what is believed of it. */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MediaRef } from '../../../src/core/message.ts';
import { MediaHost } from '../../../src/simulator/whatsapp/media.ts';
import { FakeClock, tempDir } from '../../../src/testing/fakes.ts';
import { whatsAppScene } from '../../../src/testing/whatsapp/scene.ts';
import { download } from './media.ts';
import { MediaHosts } from './media-hosts.ts';
import { type MediaAddress, toRef } from './media-ref.ts';

const MEGABYTE = 1024 * 1024;
let root = '';
const host = new MediaHost(() => root);
const server = createServer((request, response) => host.handle(request, response));

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function refOf(bytes: Buffer, override: Partial<MediaAddress> = {}): MediaRef {
  const stored = host.store('document', bytes);
  const address = {
    kind: 'document',
    key: stored.mediaKey,
    path: stored.directPath,
    hash: stored.fileEncSha256,
    ...override,
  } as const;
  return { kind: 'document', ref: toRef(address), mime: 'text/plain' };
}

async function fetchAll(media: MediaRef, override: Partial<Parameters<typeof download>[1]> = {}): Promise<Buffer> {
  const options = { mediaRoot: root, capBytes: MEGABYTE, timeoutMs: 5_000, signal: new AbortController().signal, ...override };
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await download(media, options)).bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test.each([0, 1, 15, 16, 17, 65_536, 300_001])('%i bytes arrive as they were sent', async (size) => {
  const bytes = Buffer.alloc(size, 'gatehouse');
  expect((await fetchAll(refOf(bytes))).equals(bytes)).toBe(true);
});

describe('F39 a file that is not what it should be', () => {
  test('one that was changed on the way is refused at its end', async () => {
    const media = refOf(Buffer.from('the bytes'));
    host.faults.push({ kind: 'damage' });
    await expect(fetchAll(media)).rejects.toMatchObject({ code: 'GH1505' });
  });

  test('one whose key is another, or whose hash is', async () => {
    await expect(fetchAll(refOf(Buffer.from('x'), { key: Buffer.alloc(32) }))).rejects.toMatchObject({ code: 'GH1505' });
    await expect(fetchAll(refOf(Buffer.from('x'), { hash: Buffer.alloc(32) }))).rejects.toMatchObject({ code: 'GH1505' });
  });

  test('one without a stated hash has its own checksum', async () => {
    const stored = host.store('document', Buffer.from('the bytes'));
    const ref = toRef({ kind: 'document', key: stored.mediaKey, path: stored.directPath });
    expect(String(await fetchAll({ kind: 'document', ref }))).toBe('the bytes');
    host.faults.push({ kind: 'damage' });
    await expect(fetchAll({ kind: 'document', ref })).rejects.toMatchObject({
      code: 'GH1505',
      message: expect.stringContaining('damaged'),
    });
  });

  test('one that is gone', async () => {
    const media = refOf(Buffer.from('x'));
    host.faults.push({ kind: 'status', status: 410 });
    await expect(fetchAll(media)).rejects.toMatchObject({ code: 'GH1505', message: expect.stringContaining('410') });
  });

  test('one that is larger than it says is cut off', async () => {
    await expect(fetchAll(refOf(Buffer.alloc(MEGABYTE + 1)))).rejects.toMatchObject({ code: 'GH1504' });
    await expect(fetchAll({ ...refOf(Buffer.from('x')), size: MEGABYTE + 1 })).rejects.toMatchObject({ code: 'GH1504' });
    expect(await fetchAll(refOf(Buffer.alloc(MEGABYTE)))).toHaveLength(MEGABYTE);
  });

  test('one that comes too slowly', async () => {
    const media = refOf(Buffer.from('x'));
    host.faults.push({ kind: 'stall' });
    await expect(fetchAll(media, { timeoutMs: 200 })).rejects.toMatchObject({ code: 'GH1505' });
  });
});

describe('A8 nothing is fetched from where a sender likes', () => {
  test.each([
    ['another host', { url: 'http://169.254.169.254/latest/meta-data' }],
    ['another port', { url: 'http://127.0.0.1:1/x' }],
    ['another scheme', { url: 'file:///etc/passwd' }],
    ['a name that only begins like the host', { url: 'https://mmg.whatsapp.net.evil.example/x' }],
    ['credentials', { url: 'http://user:pass@127.0.0.1/x' }],
    ['a path that is an address', { path: '@evil.example/x' }],
    ['nothing', {}],
  ])('%s', async (_what, place) => {
    const before = host.requests.length;
    const media: MediaRef = { kind: 'document', ref: toRef({ kind: 'document', key: Buffer.alloc(32), ...place }) };
    await expect(fetchAll(media)).rejects.toMatchObject({ code: 'GH1505' });
    expect(host.requests.length).toBe(before);
  });

  test('a redirect, even to the same host', async () => {
    const media = refOf(Buffer.from('x'));
    host.faults.push({ kind: 'redirect', to: `${root}/elsewhere` });
    await expect(fetchAll(media)).rejects.toMatchObject({ code: 'GH1505' });
    expect(host.requests.at(-1)).not.toContain('elsewhere');
  });

  test.each(['', 'null', '[]', '{"kind":"image"}', '{"kind":"exe","key":"AA=="}', 'not json'])(
    'a reference that is not ours: %s',
    async (ref) => {
      await expect(fetchAll({ kind: 'document', ref })).rejects.toMatchObject({ code: 'GH1505' });
    },
  );
});

async function pdfIn(dir: string, name: string) {
  const path = join(dir, 'copy');
  await writeFile(path, 'bytes');
  return { path, name, mime: 'application/pdf', kind: 'document', bytes: 5 } as const;
}

test('a file whose upload fails was seen by no person and is tried again, one that is gone is refused', async () => {
  await using at = await whatsAppScene();
  await using dir = await tempDir();
  at.platform.person('15551110000');
  const file = await pdfIn(dir.path, 'größe; x.pdf');
  at.platform.media.faults.push({ kind: 'status', status: 500 }, { kind: 'status', status: 413 });
  expect(await at.send({ text: '', file })).toMatchObject({ kind: 'retry', scope: 'part' });
  expect(await at.send({ text: '', file })).toMatchObject({ kind: 'refused', reason: 'invalid' });
  expect(await at.send({ text: '', file: { ...file, path: '/nonexistent' } })).toMatchObject({
    kind: 'refused',
    reason: 'invalid',
  });
  expect(at.platform.wire).toEqual([]);
  expect(await at.send({ text: '', file })).toMatchObject({ kind: 'sent' });
  expect(at.platform.seen[0]?.message.documentMessage).toMatchObject({ fileName: 'größe; x.pdf', mimetype: 'application/pdf' });
});

test.each([
  [429, { kind: 'retry', scope: 'account' }],
  [500, { kind: 'retry', scope: 'part' }],
])('F35 where files are stored is asked again after the question was refused with %i', async (code, expected) => {
  await using at = await whatsAppScene();
  await using dir = await tempDir();
  at.platform.person('15551110000');
  const file = await pdfIn(dir.path, 'a.pdf');
  at.platform.questionFaults.set('w:m media_conn', code);
  expect(await at.send({ text: '', file })).toMatchObject(expected);
  expect(await at.send({ text: '', file })).toMatchObject({ kind: 'sent' });
});

test('where files are stored is asked again when no answer came, and when what was told has run out', async () => {
  const clock = new FakeClock();
  const answer = (hostname: string) => {
    const content = [{ tag: 'host', attrs: { hostname } }];
    return { tag: 'iq', attrs: {}, content: [{ tag: 'media_conn', attrs: { auth: 'token', ttl: '60' }, content }] };
  };
  const answers = [undefined, answer('one'), answer('two')];
  const hosts = new MediaHosts(clock, async () => answers.shift());
  await expect(hosts.place()).rejects.toMatchObject({ failure: { kind: 'unreached' } });
  expect(await hosts.place()).toEqual({ hosts: ['one'], auth: 'token' });
  expect(await hosts.place()).toEqual({ hosts: ['one'], auth: 'token' });
  await clock.advance(60_000);
  expect(await hosts.place()).toEqual({ hosts: ['two'], auth: 'token' });
});

test('a sound with words goes as a document, so that the words are not lost', async () => {
  await using at = await whatsAppScene();
  await using dir = await tempDir();
  at.platform.person('15551110000');
  const path = join(dir.path, 'v.ogg');
  await writeFile(path, 'bytes');
  expect(
    await at.send({ text: 'listen', file: { path, name: 'v.ogg', mime: 'audio/ogg', kind: 'voice', bytes: 5 } }),
  ).toMatchObject({ kind: 'sent' });
  expect(at.platform.seen[0]?.message.documentWithCaptionMessage?.message?.documentMessage).toMatchObject({ caption: 'listen' });
});
