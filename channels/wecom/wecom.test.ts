// The adapter against a platform of our own that has the faults of the real one.

import { readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OutboundFile } from '../../src/core/message.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { tempDir, until } from '../../src/testing/fakes.ts';
import { startWecomPlatform, startWecomScene } from '../../src/testing/wecom/scene.ts';
import { channel as descriptor } from './index.ts';

const sending = {
  plain: false,
  get signal() {
    return new AbortController().signal;
  },
};

async function fileOf(dir: string, override: Partial<OutboundFile> = {}): Promise<OutboundFile> {
  const path = join(dir, 'note.txt');
  await writeFile(path, 'twelve bytes');
  return { path, name: '报告 1.txt', mime: 'text/plain', kind: 'document', bytes: 12, ...override };
}

describe('the access token', () => {
  test('is asked for once and used for every call', async () => {
    await using at = await startWecomScene();
    for (let number = 0; number < 3; number += 1) await at.send({ key: `k#${number}`, text: `message ${number}` });
    expect(at.server.calls.filter((call) => call === 'gettoken')).toHaveLength(1);
    expect(at.server.sends).toHaveLength(3);
  });

  test('that expired is renewed once for all who wait, and each message is seen once', async () => {
    await using at = await startWecomScene();
    at.server.expireTokens();
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, number) => at.send({ key: `k#${number}`, text: `m ${number}` })),
    );
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['sent']));
    expect(at.server.calls.filter((call) => call === 'gettoken')).toHaveLength(2);
    expect(at.server.sends).toHaveLength(10);
  });

  test.each([40_014, 42_001])('that is refused with %i is renewed once and no more', async (errcode) => {
    await using at = await startWecomScene();
    at.server.fault({ method: 'message/send', kind: 'errcode', errcode });
    at.server.fault({ method: 'message/send', kind: 'errcode', errcode });
    expect(await at.send({ text: 'hello' })).toMatchObject({ kind: 'retry', scope: 'account' });
    expect(at.server.calls.filter((call) => call === 'message/send')).toHaveLength(2);
    expect(await at.send({ text: 'hello' })).toMatchObject({ kind: 'sent' });
    expect(at.server.sends).toHaveLength(1);
  });

  test('that cannot be had leaves the message unsent, whatever became of the call', async () => {
    await using at = await startWecomScene();
    for (const fault of [{ kind: 'drop' }, { kind: 'status', status: 502 }, { kind: 'body', body: '<html>' }] as const) {
      at.server.expireTokens();
      at.server.fault({ method: 'gettoken', ...fault });
      expect(await at.send({ text: 'hello' })).toMatchObject({ kind: 'retry' });
    }
    expect(at.server.sends).toEqual([]);
  });
});

describe('a message whose fate is unknown', () => {
  test.each([
    ['the connection broke', { kind: 'drop' }],
    ['the answer came too late', { kind: 'hang' }],
    ['a proxy answered', { kind: 'body', body: '<html>gateway timeout</html>' }],
  ] as const)('F37 is sent again and seen once: %s', async (_name, fault) => {
    // The clock of the scene runs twenty times as fast.
    await using at = await startWecomScene({ send_timeout_secs: 12 });
    expect(at.channel.sendClass).toBe('idem');
    at.server.fault({ method: 'message/send', ...fault });
    expect(await at.send({ key: 'k#0', text: 'once' })).toMatchObject({ kind: 'unknown' });
    expect(await at.send({ key: 'k#0', text: 'once' })).toMatchObject({ kind: 'sent', platformId: 'msg-1' });
    expect(at.server.sends.map(({ text }) => text)).toEqual(['once']);
  });

  test('F37 the same words as an answer of their own are seen twice', async () => {
    await using at = await startWecomScene();
    await at.send({ key: 'one#0', text: 'Done.' });
    await at.send({ key: 'two#0', text: 'Done.' });
    expect(at.server.sends.map(({ text }) => text)).toEqual(['Done.', 'Done.']);
  });

  test('F37 a card is seen once, too', async () => {
    await using at = await startWecomScene();
    at.server.fault({ method: 'message/send', kind: 'drop' });
    const part = { key: 'k#0', text: 'Go on?', choices: [{ label: 'Yes', value: 'yes' }] };
    expect(await at.send(part)).toMatchObject({ kind: 'unknown' });
    expect(await at.send(part)).toMatchObject({ kind: 'sent' });
    expect(at.server.sends).toHaveLength(1);
  });

  test('F35 a card that the platform refuses goes as text, unless nothing can be sent to this member', async () => {
    await using at = await startWecomScene();
    const part = { key: 'k#0', text: 'Go on?', choices: [{ label: 'Yes', value: 'yes' }] };
    const refused = (errcode: number) => {
      at.server.fault({ method: 'message/send', kind: 'errcode', errcode });
      return at.send(part);
    };
    expect(await refused(41_016)).toMatchObject({ kind: 'refused', reason: 'markup' });
    expect(await refused(81_013)).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
    expect(await refused(45_009)).toMatchObject({ kind: 'retry' });
    expect(await at.send(part, true)).toMatchObject({ kind: 'sent' });
    expect(at.server.sends).toMatchObject([{ msgtype: 'text', text: expect.stringContaining('yes') }]);
  });

  test('F37 without the duplicate check the channel says that it cannot know', async () => {
    await using at = await startWecomScene({ duplicate_check: false });
    expect(at.channel.sendClass).toBe('blind');
    await at.send({ key: 'k#0', text: 'x' });
    expect(at.server.sends[0]?.raw).not.toHaveProperty('enable_duplicate_check');
  });

  test('a busy platform and a gateway in between leave it unknown', async () => {
    await using at = await startWecomScene();
    at.server.fault({ method: 'message/send', kind: 'errcode', errcode: -1, errmsg: 'system busy' });
    expect(await at.send({ text: 'a' })).toMatchObject({ kind: 'unknown' });
    at.server.fault({ method: 'message/send', kind: 'status', status: 502 });
    expect(await at.send({ text: 'a' })).toMatchObject({ kind: 'unknown' });
  });

  test('an abort under way is unknown, one while waiting for a token is not', async () => {
    await using at = await startWecomScene();
    const abort = async (method: string) => {
      at.server.fault({ method, kind: 'hang' });
      const [stop, before] = [new AbortController(), at.server.calls.length];
      const sent = at.channel.send(at.part({ text: method, key: method }), { plain: false, signal: stop.signal });
      await until(`${method} is called`, () => at.server.calls.slice(before).includes(method));
      stop.abort();
      return await sent;
    };
    expect(await abort('message/send')).toMatchObject({ kind: 'unknown' });
    at.server.expireTokens();
    expect(await abort('gettoken')).toMatchObject({ kind: 'retry' });
    expect(at.server.sends.map(({ text }) => text)).toEqual(['message/send']);
  });
});

describe('credentials', () => {
  test('F34 that are refused while running bring the channel down with what to do, and back when they are mended', async () => {
    await using at = await startWecomScene();
    at.server.fault({ method: 'message/send', kind: 'errcode', errcode: 60_020, errmsg: 'not allow to access from your ip' });
    at.server.fault({ method: 'agent/get', kind: 'errcode', errcode: 60_020, errmsg: 'not allow to access from your ip' });
    expect(await at.send({ text: 'hello' })).toMatchObject({ kind: 'refused', reason: 'auth' });
    expect(at.host.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringMatching(/GH1501.*60020.*Trusted IPs/) });
    await until('it recovered', () => at.host.state === 'healthy');
    expect(at.server.calls.filter((call) => call === 'agent/get').length).toBeGreaterThan(2);
  });

  test('never appear in health, results or logs, even if the platform repeats them', async () => {
    await using platform = await startWecomPlatform();
    const host = new TestHost();
    const channel = await platform.create({}, {}, 'wrong-secret-value');
    await channel.start(host, new AbortController().signal);
    const result = await channel.send(platform.part({ text: 'x' }), sending);
    await channel.stop();
    expect(host.states.some(({ detail }) => detail?.includes('GH1501'))).toBe(true);
    const said = JSON.stringify([host.states, result, platform.logger.lines]);
    for (const secret of ['wrong-secret-value', 'token-1', platform.push.aesKey, platform.push.token])
      expect(said).not.toContain(secret);
    expect(said).toContain('[secret]');
  });

  test('A8 A18 are not carried to another host by a redirect', async () => {
    const seen: string[] = [];
    const thief = createServer((request, response) => {
      seen.push(request.url ?? '');
      response.end('{"errcode":0}');
    });
    await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve));
    const location = `http://127.0.0.1:${(thief.address() as AddressInfo).port}/`;
    try {
      await using at = await startWecomScene();
      for (const method of ['message/send', 'media/get']) at.server.fault({ method, kind: 'redirect', location });
      expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'unknown' });
      await expect(at.channel.download?.({ kind: 'photo', ref: 'm' }, sending.signal)).rejects.toMatchObject({ code: 'GH1505' });
      expect(seen).toEqual([]);
    } finally {
      await new Promise((resolve) => thief.close(resolve));
    }
  });

  test('that are missing or malformed stop the channel from being made, by name', async () => {
    await using platform = await startWecomPlatform();
    await expect(platform.create({}, { secret: () => 'ww x' })).rejects.toMatchObject({ code: 'GH1101' });
    await expect(platform.create({}, { secret: () => 'wwok' })).rejects.toMatchObject({ code: 'GH1101' });
    expect(() => descriptor.settings.parse({})).toThrow(/agent_id/);
    expect(() => descriptor.settings.parse({ agent_id: 7, corp_id: 'ww x' })).toThrow(/Company ID/);
    expect((await platform.create({ corp_id: 'wwnamed' })).account).toBe(`wwnamed:${platform.server.agentId}`);
  });

  test('an installation that lets no application read itself is healthy all the same', async () => {
    await using platform = await startWecomPlatform();
    platform.server.fault({ method: 'agent/get', kind: 'errcode', errcode: 60_011 });
    const host = new TestHost();
    const channel = await platform.create();
    await channel.start(host, new AbortController().signal);
    expect(host.state).toBe('healthy');
    await channel.stop();
  });
});

describe('files', () => {
  test('go up once and are seen under their name', async () => {
    await using dir = await tempDir();
    await using at = await startWecomScene();
    expect(await at.send({ text: '', file: await fileOf(dir.path) })).toMatchObject({ kind: 'sent' });
    expect(at.server.sends[0]).toMatchObject({
      msgtype: 'file',
      file: { name: '报告 1.txt', bytes: Buffer.from('twelve bytes') },
    });
  });

  test('F37 after a crash between the message and its answer the same upload is sent again, and seen once', async () => {
    await using files = await tempDir();
    await using dir = await tempDir();
    await using at = await startWecomScene({}, { dir: dir.path });
    const part = { key: 'k#0', text: '', file: await fileOf(files.path) };
    at.server.fault({ method: 'message/send', kind: 'drop' });
    expect(await at.send(part)).toMatchObject({ kind: 'unknown' });
    expect(await readdir(join(dir.path, 'uploads'))).toHaveLength(1);
    await at.channel.stop();
    const next = await at.create({}, { dir: dir.path });
    await next.start(new TestHost(), sending.signal);
    expect(await next.send(at.part(part), sending)).toMatchObject({ kind: 'sent' });
    expect(at.server.sends).toHaveLength(1);
    expect(await readdir(join(dir.path, 'uploads'))).toEqual([]);
    await next.stop();
  });

  test('F37 an upload is kept while the login is refused: the message of an earlier attempt may have arrived', async () => {
    await using files = await tempDir();
    await using dir = await tempDir();
    await using at = await startWecomScene({}, { dir: dir.path });
    const part = { key: 'k#0', text: '', file: await fileOf(files.path) };
    at.server.fault({ method: 'message/send', kind: 'drop' });
    expect(await at.send(part)).toMatchObject({ kind: 'unknown' });
    at.server.fault({ method: 'message/send', kind: 'errcode', errcode: 60_020 });
    expect(await at.send(part)).toMatchObject({ kind: 'refused', reason: 'auth' });
    expect(await at.send(part)).toMatchObject({ kind: 'sent' });
    expect(at.server.sends).toHaveLength(1);
  });

  test('an upload that the platform no longer has is made again', async () => {
    await using files = await tempDir();
    await using at = await startWecomScene();
    const part = { key: 'k#0', text: '', file: await fileOf(files.path) };
    at.server.fault({ method: 'message/send', kind: 'errcode', errcode: 45_009 });
    expect(await at.send(part)).toMatchObject({ kind: 'retry' });
    at.server.forgetUploads();
    expect(await at.send(part)).toMatchObject({ kind: 'retry', afterMs: 0, scope: 'part' });
    expect(await at.send(part)).toMatchObject({ kind: 'sent' });
    expect(at.server.sends).toHaveLength(1);
  });

  test('nothing is sent for a file that is gone, too small, or whose id cannot be kept', async () => {
    await using files = await tempDir();
    await using at = await startWecomScene({}, { dir: '/dev/null/none' });
    const file = await fileOf(files.path);
    expect(await at.send({ text: '', file: { ...file, path: join(files.path, 'gone') } })).toMatchObject({ kind: 'refused' });
    expect(await at.send({ text: '', file: { ...file, bytes: 5 } })).toMatchObject({ kind: 'refused', reason: 'invalid' });
    expect(await at.send({ text: '', file })).toMatchObject({ kind: 'retry', scope: 'part' });
    expect(at.server.sends).toEqual([]);
    expect(at.host.state).toBe('healthy');
  });

  test('a file that somebody sends alone can be fetched', async () => {
    await using at = await startWecomScene();
    at.server.addMedia('m-1', { name: 'note.json', bytes: Buffer.from('{"errcode":1}'), mime: 'application/json' });
    at.push.message('ada', { MsgType: 'file', MediaId: 'm-1', FileName: 'note.json' });
    const message = await until('it arrived', () => at.host.accepted[0]);
    const [media] = message.media;
    if (!media || !at.channel.download) throw new Error('no file');
    const file = await at.channel.download(media, sending.signal);
    expect(await new Response(ReadableStream.from(file.bytes)).text()).toBe('{"errcode":1}');
    expect(file).toMatchObject({ mime: 'application/json', size: 13 });
  });

  test('F39 a file of a stated size above the cap is not asked for, one that states it late is not read', async () => {
    await using at = await startWecomScene();
    const size = at.channel.limits.downloadBytes + 1;
    const fetching = (stated?: number) =>
      at.channel.download?.({ kind: 'video', ref: 'big', ...(stated && { size: stated }) }, sending.signal);
    await expect(fetching(size)).rejects.toMatchObject({ code: 'GH1504' });
    expect(at.server.calls).not.toContain('media/get');
    at.server.addMedia('big', { name: 'v.mp4', bytes: Buffer.alloc(size) });
    await expect(fetching()).rejects.toMatchObject({ code: 'GH1504' });
  });

  test('F39 a file that comes too slowly is given up', async () => {
    await using at = await startWecomScene({ download_timeout_secs: 1 });
    at.server.addMedia('slow', { name: 'a', bytes: Buffer.alloc(10) });
    at.server.fault({ method: 'media/get', kind: 'hang' });
    await expect(at.channel.download?.({ kind: 'photo', ref: 'slow' }, sending.signal)).rejects.toMatchObject({ code: 'GH1505' });
  });
});
