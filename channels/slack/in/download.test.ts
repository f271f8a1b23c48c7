/** Files of people: where the token goes, and where it does not. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { MediaRef } from '../../../src/core/message.ts';
import type { StoredFile } from '../../../src/simulator/slack/workspace.ts';
import { slackSetup } from '../../../src/testing/slack/setup.ts';
import { channel as descriptor } from '../index.ts';
import { mediaOf } from './inbound-content.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

async function scene(override: Partial<StoredFile> = {}, apiRoot?: string) {
  const at = await slackSetup(descriptor, apiRoot === undefined ? {} : { settings: { api_root: apiRoot } });
  open.push(at);
  const channel = await at.create();
  open.push({ [Symbol.asyncDispose]: () => channel.stop() });
  const file = at.server.file({ name: 'note.txt', bytes: Buffer.from('bytes'), mime: 'text/plain', ...override });
  at.server.workspace.files.set(file.id, file);
  const download = async (media: Partial<MediaRef>, signal = new AbortController().signal) => {
    const found = await channel.download?.({ kind: 'document', ref: file.id, ...media }, signal);
    const parts: Uint8Array[] = [];
    for await (const part of found?.bytes ?? []) parts.push(part);
    return { mime: found?.mime, text: Buffer.concat(parts).toString() };
  };
  const fetchIt = async (signal?: AbortSignal): Promise<string> => (await download({ mime: file.mime }, signal)).text;
  return { ...at, file, download, fetchIt };
}

/** Another host: what reaches it is recorded. */
async function stranger() {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('stolen');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({ [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) });
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/file` };
}

test('a file is fetched with the token from the host that was configured', async () => {
  const at = await scene();
  expect(await at.fetchIt()).toBe('bytes');
  expect(at.server.fileAuthorizations).toEqual([`Bearer ${at.server.botToken}`]);
});

test('A8 an address outside the platform is not even asked', async () => {
  const other = await stranger();
  for (const url of [
    other.url,
    'https://files.slack.com.evil.example/f',
    'https://evil-slack.com/f',
    'http://files.slack.com/f',
    'https://files.slack.com:8443/f',
    'https://user:secret@files.slack.com/f',
    'file:///etc/passwd',
    'no address',
  ]) {
    const at = await scene({ url });
    await expect(at.fetchIt(), url).rejects.toMatchObject({ code: 'GH1505' });
  }
  expect(other.seen).toEqual([]);
});

test('A8 A18 a redirect to another host gets neither the token nor a request', async () => {
  const other = await stranger();
  const at = await scene({ redirect: other.url });
  await expect(at.fetchIt()).rejects.toMatchObject({ code: 'GH1505', message: expect.stringContaining('not the platform') });
  expect(other.seen).toEqual([]);
});

test('a redirect within the platform is followed, but not for ever', async () => {
  const at = await scene();
  const moved = at.server.file({ name: 'moved.txt', bytes: Buffer.from('moved') });
  at.server.workspace.files.set(moved.id, moved);
  at.server.workspace.files.set(at.file.id, { ...at.file, redirect: `/files/${moved.id}/moved.txt` });
  expect(await at.fetchIt()).toBe('moved');
  at.server.workspace.files.set(at.file.id, { ...at.file, redirect: `/files/${at.file.id}/again` });
  await expect(at.fetchIt()).rejects.toMatchObject({ code: 'GH1505', message: expect.stringContaining('too often') });
});

test('a login page in place of the file names the scope that is missing', async () => {
  const at = await scene({ mime: 'image/png' });
  at.server.workspace.files.set(at.file.id, { ...at.file, mime: 'text/html' });
  await expect(at.fetchIt()).rejects.toMatchObject({ code: 'GH1505', hint: expect.stringContaining('files:read') });
});

test('a canvas is handed out as HTML, which is no login page', async () => {
  const canvas = {
    mime: 'application/vnd.slack-docs',
    servedAs: 'text/html; charset=utf-8',
    bytes: Buffer.from('<p>a plan</p>'),
  };
  const at = await scene(canvas);
  const [named] = mediaOf({ files: [at.server.workspace.fileObject(at.file, at.server.origin)] });
  expect(named?.mime).toBe('text/html');
  // Neither every event nor a message of an earlier version says so.
  for (const mime of [named?.mime, undefined])
    expect(await at.download(mime === undefined ? {} : { mime })).toEqual({ mime: 'text/html', text: '<p>a plan</p>' });
  expect(await at.fetchIt()).toBe('<p>a plan</p>');
});

test('F39 a stated size beyond the cap is refused before a byte is asked for, and an abort ends with its reason', async () => {
  const at = await scene({ statedSize: 2_000_000_000 });
  await expect(at.fetchIt()).rejects.toMatchObject({ code: 'GH1504' });
  expect(at.server.fileAuthorizations).toEqual([]);
  const reason = new Error('enough');
  await expect(at.fetchIt(AbortSignal.abort(reason))).rejects.toBe(reason);
});
