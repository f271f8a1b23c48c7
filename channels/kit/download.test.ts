import { getEventListeners } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import type { MediaFile } from '../../src/core/channel.ts';
import type { MediaRef } from '../../src/core/message.ts';
import { until } from '../../src/testing/fakes.ts';
import { fileBody, fileUrl, followRedirects, type Hop, openDownload, tooLarge } from './download.ts';

const FILE: MediaRef = { kind: 'document', ref: 'f' };
const MEGABYTE = 1024 * 1024;

function limits(override: Partial<Parameters<typeof openDownload>[1]> = {}) {
  return { capBytes: MEGABYTE, timeoutMs: 5_000, signal: new AbortController().signal, ...override };
}

async function read({ bytes }: MediaFile): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts);
}

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

test("a file comes with the platform's word on what it is, unless its message said", async () => {
  const open = async () => ({ body: Readable.from([Buffer.from('abc')]), mime: 'text/plain', size: 3 });
  const file = await openDownload(FILE, limits(), { open });
  expect([file.mime, file.size, String(await read(file))]).toEqual(['text/plain', 3, 'abc']);
  expect(await openDownload({ ...FILE, mime: 'text/html' }, limits(), { open })).toMatchObject({ mime: 'text/html' });
});

test('A9 a size that is too large is refused before a byte is read, whoever stated it', async () => {
  let opened = 0;
  const body = Readable.from([Buffer.from('abc')]);
  const open = async () => {
    opened += 1;
    return { body, size: MEGABYTE + 1 };
  };
  await expect(openDownload({ ...FILE, size: MEGABYTE + 1 }, limits(), { open })).rejects.toMatchObject({ code: 'GH1504' });
  expect(opened).toBe(0);
  await expect(openDownload(FILE, limits(), { open })).rejects.toMatchObject({
    code: 'GH1504',
    message: 'the file is larger than 1 MB',
  });
  expect(body.destroyed).toBe(true);
});

test('A9 a file that is longer than anybody said is cut off at the cap, and its body is closed', async () => {
  const body = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(64 * 1024)));
  const file = await openDownload({ ...FILE, size: 10 }, limits(), { open: async () => ({ body, size: 10 }) });
  await expect(read(file)).rejects.toMatchObject({ code: 'GH1504' });
  expect(body.destroyed).toBe(true);
});

test('what a failure said is not passed on: it may hold an address or a token', async () => {
  const open = () => Promise.reject(new Error('GET https://files.example/?token=hunter2'));
  const failed: unknown = await openDownload(FILE, limits(), { open }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 'GH1505', message: 'the download broke off or took too long' });
  expect(inspect(failed)).not.toContain('hunter2');
  await expect(openDownload(FILE, limits(), { open, explain: () => 'it was deleted' })).rejects.toMatchObject({
    code: 'GH1505',
    message: 'it was deleted',
  });
  await expect(openDownload(FILE, limits(), { open, explain: () => tooLarge(MEGABYTE) })).rejects.toMatchObject({
    code: 'GH1504',
  });
});

test('the time limit covers the reading, and the caller hears of its own abort', async () => {
  const silent = async () => ({ body: new ReadableStream<Uint8Array>() });
  const never = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await expect(openDownload(FILE, limits({ timeoutMs: 20 }), { open: never })).rejects.toMatchObject({ code: 'GH1505' });
  const abort = new AbortController();
  const waiting = openDownload(FILE, limits({ signal: abort.signal }), { open: never });
  abort.abort(new Error('the turn ended'));
  await expect(waiting).rejects.toThrow('the turn ended');
  await expect(openDownload(FILE, limits({ signal: abort.signal }), { open: silent })).rejects.toThrow('the turn ended');
});

test('the end of the channel ends a download, and a finished one leaves nothing on its signal', async () => {
  const stop = new AbortController();
  const open = async (signal: AbortSignal) => ({ body: Readable.from([Buffer.from('a'), Buffer.from('b')], { signal }) });
  const file = await openDownload(FILE, limits({ stop: stop.signal }), { open });
  await read(file);
  expect(listeners(stop.signal)).toBe(0);
  const other = await openDownload(FILE, limits({ stop: stop.signal }), { open });
  stop.abort(new Error('channel stopped'));
  await expect(read(other)).rejects.toThrow('channel stopped');
  expect(listeners(stop.signal)).toBe(0);
});

test('a file that nobody reads is let go at the time limit', async () => {
  const stop = new AbortController();
  await openDownload(FILE, limits({ stop: stop.signal, timeoutMs: 20 }), { open: async () => ({ body: Readable.from([]) }) });
  expect(listeners(stop.signal)).toBe(1);
  await until('nothing holds on to the channel', () => listeners(stop.signal) === 0);
});

test('A18 an address is taken only when it is allowed, and never with a login in it', () => {
  const isAllowed = (url: URL): boolean => url.hostname.endsWith('.example');
  expect(fileUrl('/b', isAllowed, new URL('https://a.example/x')).href).toBe('https://a.example/b');
  for (const address of [undefined, 'no address', 'https://169.254.169.254/', 'https://u:p@a.example/', 'file:///etc/passwd']) {
    expect(() => fileUrl(address, isAllowed)).toThrow(expect.objectContaining({ code: 'GH1505' }));
  }
});

test('A8 a redirect is followed step by step, and a step that is not allowed is never asked', async () => {
  const asked: string[] = [];
  const answers: Readonly<Record<string, string>> = { '/1': '/2', '/2': '//b.example/3', '/loop': '/loop', '/out': '//intern/' };
  const request = async (url: URL): Promise<Hop<URL>> => {
    asked.push(url.href);
    const location = answers[url.pathname];
    return { status: location === undefined ? 200 : 302, location, answer: url, discard: () => undefined };
  };
  const options = { request, isAllowed: ({ hostname }: URL) => hostname.endsWith('.example') };
  const { answer } = await followRedirects(new URL('https://a.example/1'), options);
  expect(answer.href).toBe('https://b.example/3');
  await expect(followRedirects(new URL('https://a.example/loop'), options)).rejects.toThrow('redirected too often');
  await expect(followRedirects(new URL('https://a.example/out'), options)).rejects.toThrow('intern');
  expect(asked.filter((url) => url.includes('intern'))).toEqual([]);
});

test('an answer that is no file is refused with its status, and its connection is closed', async () => {
  const server: Server = createServer((_, response) => response.writeHead(404).end('not here'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
  await expect(fileBody(response)).rejects.toMatchObject({
    code: 'GH1505',
    message: 'the platform answered 404 to the download',
  });
  await new Promise((resolve) => server.close(resolve));
});
