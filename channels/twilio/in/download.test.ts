/** Files in both directions, against the test server and its store. */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import type { MediaRef, OutboundFile } from '../../../src/core/message.ts';
import { TestHost } from '../../../src/testing/channel-host.ts';
import { FakeClock, outbound, tempDir, until } from '../../../src/testing/fakes.ts';
import { type TwilioScene, twilioScene } from '../../../src/testing/twilio/scene.ts';
import { channel as descriptor } from '../index.ts';
import { PublicFiles } from '../out/public-files.ts';
import { isPlatformHost } from './download.ts';

const ADA = '+14155550001';
const signal = new AbortController().signal;

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function scene(): Promise<TwilioScene> {
  const made = await twilioScene(descriptor);
  open.push(async () => made[Symbol.asyncDispose]());
  return made;
}

async function received(at: TwilioScene, settings: object = {}, bytes = Buffer.alloc(100_000, 'x')) {
  const { channel, host } = await at.start(settings);
  at.platform.inject(ADA, 'look', { files: [{ bytes, mime: 'image/png' }] });
  const message = await until('it arrived', () => host.accepted[0]);
  const [media] = message.media;
  if (!media) throw new Error('no file');
  return { channel, media, bytes };
}

async function read(channel: Channel, media: MediaRef): Promise<Buffer> {
  const file = await channel.download?.(media, signal);
  const chunks: Uint8Array[] = [];
  for await (const chunk of file?.bytes ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A server that is not Twilio's and notes what it is told. */
async function stranger(): Promise<{ url: string; seen: (string | undefined)[] }> {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('not a picture');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return { url: `http://localhost:${(server.address() as AddressInfo).port}/`, seen };
}

test('A8 the bytes come over the redirect, and the credentials stay with the API', async () => {
  const at = await scene();
  const { channel, media, bytes } = await received(at);
  expect(await read(channel, media)).toEqual(bytes);
  expect(at.platform.storeAuthorizations).toEqual([]);
});

test('A8 A18 a redirect to a host that is not of the platform is not followed', async () => {
  const at = await scene();
  const { channel, media } = await received(at);
  const { url, seen } = await stranger();
  for (const target of [url, 'file:///etc/passwd', 'http://169.254.169.254/', 'https://user:pw@127.0.0.1/', 'http://[bad']) {
    at.platform.redirectTo = () => target;
    await expect(read(channel, media)).rejects.toMatchObject({ code: 'GH1505' });
  }
  expect(seen).toEqual([]);
});

test('A18 a redirect in a circle ends', async () => {
  const at = await scene();
  const { channel, media } = await received(at);
  at.platform.redirectTo = (sid) =>
    `${at.platform.url}/2010-04-01/Accounts/${at.platform.accountSid}/Messages/${media.ref.split('/')[0]}/Media/${sid}`;
  await expect(read(channel, media)).rejects.toThrow(/too often/);
});

test.each([
  ['https://api.twilio.com/x', true],
  ['https://mms.twiliocdn.com/x', true],
  ['https://s3-external-1.amazonaws.com/media.twiliocdn.com/x', true],
  ['https://s3.amazonaws.com/x', true],
  ['https://bucket.s3.us-east-1.amazonaws.com/x', true],
  ['https://media.s3.dualstack.eu-west-1.amazonaws.com/x', true],
  ['http://api.twilio.com/x', false],
  ['https://api.twilio.com:8443/x', false],
  ['https://twilio.com.evil.example/x', false],
  ['https://eviltwilio.com/x', false],
  ['https://ec2-10-0-0-1.compute-1.amazonaws.com/x', false],
  ['https://s3.amazonaws.com.evil.example/x', false],
  ['https://evils3.amazonaws.com/x', false],
  ['https://127.0.0.1/x', false],
  ['https://[::1]/x', false],
  ['http://proxy.example/x', true],
  ['ftp://proxy.example/x', false],
])('A8 %s may hold files: %s', (url, allowed) => {
  expect(isPlatformHost(new URL(url), ['proxy.example'])).toBe(allowed);
});

test('A20 a reference that is no file of Twilio makes no request', async () => {
  const at = await scene();
  const { channel } = await at.start();
  const calls = at.platform.calls.length;
  for (const ref of ['gone', '../../x', `MM${'1'.repeat(32)}/../x`, 'http://127.0.0.1/', '']) {
    await expect(read(channel, { kind: 'document', ref })).rejects.toMatchObject({ code: 'GH1505' });
  }
  expect(at.platform.calls.length).toBe(calls);
});

test('F39 a file that is too large is GH1504, before and while it is read', async () => {
  const at = await scene();
  const { channel, media } = await received(at, {}, Buffer.alloc(5 * 1024 * 1024 + 1));
  await expect(read(channel, media)).rejects.toMatchObject({ code: 'GH1504' });
  await expect(read(channel, { ...media, size: 6 * 1024 * 1024 })).rejects.toMatchObject({ code: 'GH1504' });
});

test('F39 a file that breaks off is GH1505, and the message stays', async () => {
  const at = await scene();
  const { channel, media } = await received(at);
  at.platform.fault({ call: 'store', kind: 'drop' });
  await expect(read(channel, media)).rejects.toMatchObject({ code: 'GH1505', message: expect.not.stringContaining('key=') });
  at.platform.fault({ call: 'store', kind: 'error', status: 403 });
  await expect(read(channel, media)).rejects.toThrow(/answered 403/);
});

test('F39 a file that is not in the store yet is asked for again', async () => {
  const at = await scene();
  const { channel, media, bytes } = await received(at);
  at.platform.fault({ call: 'media', kind: 'error', status: 404, code: 20404 });
  expect(await read(channel, media)).toEqual(bytes);
});

test('F39 a download that hangs ends, with the reason of its signal', async () => {
  const at = await scene();
  const { channel, media } = await received(at, { download_timeout_secs: 1 });
  at.platform.fault({ call: 'media', kind: 'hang', times: 2 });
  const abort = new AbortController();
  const reason = new Error('enough');
  setTimeout(() => abort.abort(reason), 30);
  await expect(channel.download?.(media, abort.signal)).rejects.toBe(reason);
  await expect(read(channel, media)).rejects.toThrow(/took too long/);
});

async function copy(bytes: Buffer, override: Partial<OutboundFile> = {}): Promise<OutboundFile> {
  const dir = await tempDir();
  open.push(async () => dir[Symbol.asyncDispose]());
  const path = join(dir.path, 'copy');
  await writeFile(path, bytes);
  return { path, name: 'p.png', mime: 'image/png', kind: 'photo', bytes: bytes.length, ...override };
}

function send(channel: Channel, file: OutboundFile) {
  return channel.send(outbound({ chatId: ADA, text: '', file, channel: 'twilio' }), { plain: false, signal });
}

test('a picture is fetched from an address that nobody can guess, and not from any other', async () => {
  const at = await scene();
  const { channel } = await at.start();
  expect(await send(channel, await copy(Buffer.from('png')))).toMatchObject({ kind: 'sent' });
  const address = at.platform.forms[0]?.get('MediaUrl') ?? '';
  expect(address).toMatch(/^https:\/\/gatehouse\.example\/hooks\/twilio\?file=[\w-]{43}$/);
  const local = at.platform.target?.toLocal(address) ?? '';
  expect(await (await fetch(local)).text()).toBe('png');
  for (const wrong of [local.slice(0, -1), local.split('?')[0] ?? '', `${local.split('=')[0]}=`])
    expect((await fetch(wrong)).status).toBe(404);
  await channel.stop();
  expect((await fetch(local)).status).toBe(404);
});

test('A23 what a browser would run is not served, and a hostile name breaks no header', async () => {
  const at = await scene();
  const { channel } = await at.start();
  for (const mime of ['text/html', 'image/svg+xml', 'application/xhtml+xml', 'text/javascript', 'application/octet-stream', '']) {
    expect(await send(channel, await copy(Buffer.from('<script>'), { mime }))).toMatchObject({
      kind: 'refused',
      reason: 'invalid',
    });
  }
  expect(await send(channel, await copy(Buffer.from('x'), { name: '../a";\r\nx: y \u0000größe.png' }))).toMatchObject({
    kind: 'sent',
  });
  expect(at.platform.sends[0]?.media[0]?.name).toMatch(/^[\w-]{1,16}\.png$/);
  expect(at.platform.calls.filter((call) => call.startsWith('POST'))).toHaveLength(1);
});

test('too large, gone or without an address: refused before anything is sent', async () => {
  const at = await scene();
  const { channel } = await at.start();
  const pdf = { mime: 'application/pdf', kind: 'document' } as const;
  expect(await send(channel, await copy(Buffer.alloc(600 * 1024), pdf))).toMatchObject({ kind: 'refused', reason: 'too-long' });
  expect(await send(channel, await copy(Buffer.alloc(600 * 1024)))).toMatchObject({ kind: 'sent' });
  const lying = await copy(Buffer.alloc(6 * 1024 * 1024), { bytes: 10 });
  expect(await send(channel, lying)).toMatchObject({ kind: 'refused', reason: 'too-long' });
  const gone = await copy(Buffer.from('x'), { path: '/nonexistent/x' });
  expect(await send(channel, gone)).toMatchObject({ kind: 'refused', reason: 'invalid' });
  const { channel: private_ } = await at.start({ public_url: undefined });
  expect(await send(private_, await copy(Buffer.from('x')))).toMatchObject({
    kind: 'refused',
    detail: expect.stringContaining('public_url'),
  });
});

test('a file waits for the next start once the webhook is not served any more, and words still go out', async () => {
  const at = await scene();
  const channel = await at.create();
  const intake = new AbortController();
  await channel.start(new TestHost(), intake.signal);
  const file = await copy(Buffer.from('png'));
  expect(await send(channel, file)).toMatchObject({ kind: 'sent' });
  const local = at.platform.target?.toLocal(at.platform.forms[0]?.get('MediaUrl') ?? '') ?? '';
  intake.abort(new Error('shutdown'));
  await until('nothing is served', async () => (await fetch(local)).status === 404);
  expect(await send(channel, file)).toMatchObject({ kind: 'retry', scope: 'part' });
  expect(at.platform.sends).toHaveLength(1);
  const words = outbound({ chatId: ADA, text: 'words', channel: 'twilio' });
  expect(await channel.send(words, { plain: false, signal })).toMatchObject({ kind: 'sent' });
  // The next process may be there to hear of it.
  expect(at.platform.forms[1]?.get('StatusCallback')).toMatch(/\?part=/);
});

test('a file whose message may have arrived is still served', async () => {
  const at = await scene();
  const { channel } = await at.start();
  at.platform.fault({ call: 'send', kind: 'drop' });
  expect(await send(channel, await copy(Buffer.from('kept')))).toMatchObject({ kind: 'unknown' });
  const kept = at.platform.target?.toLocal(at.platform.forms[0]?.get('MediaUrl') ?? '') ?? '';
  expect((await fetch(kept)).status).toBe(200);
});

test('a file for which there is no place waits alone: words to others go out', async () => {
  const at = await scene();
  const { channel } = await at.start();
  const file = await copy(Buffer.from('x'));
  for (let n = 0; n < 8; n += 1) expect(await send(channel, file)).toMatchObject({ kind: 'sent' });
  expect(await send(channel, file)).toMatchObject({ kind: 'retry', scope: 'part' });
});

test('a file that was fetched gives up its place within a minute', async () => {
  const clock = new FakeClock();
  const files = new PublicFiles(clock);
  const file = await copy(Buffer.from('x'));
  const tokens: string[] = [];
  for (let n = 0; n < 8; n += 1) {
    const offered = await files.offer(file);
    if (offered.kind === 'held') tokens.push(offered.token);
  }
  // The head alone does not count: the file may be asked for much later.
  files.serve(tokens[0] ?? '');
  for (const asked of ['head', 'file']) expect([asked, files.serve(tokens[1] ?? '').status]).toEqual([asked, 200]);
  await clock.advance(60_000);
  expect([files.serve(tokens[0] ?? '').status, files.serve(tokens[1] ?? '').status]).toEqual([200, 404]);
  expect((await files.offer(file)).kind).toBe('held');
});

test('files are forgotten after ten minutes, and a handful at most is held', async () => {
  const clock = new FakeClock();
  const files = new PublicFiles(clock);
  const file = await copy(Buffer.from('x'));
  const offered = await files.offer(file);
  if (offered.kind !== 'held') throw new Error('not held');
  expect(files.serve(offered.token).status).toBe(200);
  for (let n = 1; n < 8; n += 1) expect((await files.offer(file)).kind).toBe('held');
  expect(await files.offer(file)).toEqual({ kind: 'full' });
  await clock.advance(10 * 60_000);
  expect(files.serve(offered.token)).toEqual({ status: 404 });
  const again = await files.offer(file);
  if (again.kind !== 'held') throw new Error('not held');
  files.withdraw(again.token);
  expect(files.serve(again.token)).toEqual({ status: 404 });
});
