/**
 * Sending, editing and fetching, against the test server: what the contract suite cannot know about this
 * platform.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import type { OutboundFile } from '../../src/core/message.ts';
import { planParts } from '../../src/delivery/plan.ts';
import { visibleText } from '../../src/simulator/feishu/posts.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { inbound, outbound, tempDir } from '../../src/testing/fakes.ts';
import { type FeishuScene, feishuScene } from '../../src/testing/feishu/scene.ts';
import { channel as descriptor } from './index.ts';
import { toMessage } from './out/outbound.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

async function scene(options?: Parameters<typeof feishuScene>[1]): Promise<FeishuScene> {
  const made = await feishuScene('ws', options);
  open.push(made);
  return made;
}

const SEND = /^POST .*\/messages$/;
const { signal } = new AbortController();

test('settings have defaults, refuse unknown keys, and every key is described', () => {
  expect(descriptor.settings.parse({})).toMatchObject({
    app_id_env: 'FEISHU_APP_ID',
    region: 'cn',
    mode: 'ws',
    rate_limits: true,
  });
  expect(() => descriptor.settings.parse({ app_id: 'cli_x' })).toThrow();
  expect(() => descriptor.settings.parse({ api_root: 'ftp://x' })).toThrow();
});

test('loading the descriptor does not load the SDK', async () => {
  const script = `await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
const { createRequire } = await import('node:module');
const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('larksuite'));
process.stdout.write(String(loaded.length));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout).toBe('0');
});

test('an App ID that is none is refused before anything is connected', async () => {
  for (const id of ['', 'cli_', 'cli_xyz', '0123456789abcdef', 'cli_0123456789abcdef0']) {
    const deps = channelDeps({ secret: () => id });
    await expect(descriptor.create(descriptor.settings.parse({}), deps)).rejects.toMatchObject({ code: 'GH1101' });
  }
});

test('A29 neither the secret nor a token is told, logged or printed, whatever goes wrong', async () => {
  const printed: string[] = [];
  for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const) {
    vi.spyOn(console, method).mockImplementation((...args: unknown[]) => void printed.push(inspect(args, { depth: 8 })));
  }
  const at = await scene();
  const told: unknown[] = [];
  for (const fault of ['drop', 'page', 'error'] as const) {
    at.server.faults.push(
      fault === 'error'
        ? { match: SEND, kind: 'error', status: 400, code: 230001, msg: 'no' }
        : fault === 'page'
          ? { match: SEND, kind: 'page', status: 502 }
          : { match: SEND, kind: 'drop' },
    );
    told.push(await at.send({ text: 'x' }));
  }
  const [media] = [{ kind: 'photo', ref: 'om_1:image:none' } as const];
  told.push(await at.channel.download?.(media, signal).catch((error: unknown) => error));
  at.server.disconnect();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const all = inspect([told, at.logger.lines, at.host.states], { depth: 12, maxStringLength: null });
  expect(all).not.toContain(at.server.appSecret);
  expect(all).not.toMatch(/Bearer|\bt-[0-9a-f]{8}-/);
  expect(printed).toEqual([]);
});

test('a token that was taken back is renewed once, and the call is made again', async () => {
  const at = await scene();
  expect(at.server.tokensIssued).toBe(1);
  await at.send({ text: 'one', key: 'a' });
  expect(at.server.tokensIssued).toBe(1);
  at.server.revokeToken();
  expect(await at.send({ text: 'two', key: 'b' })).toMatchObject({ kind: 'sent' });
  expect(at.server.tokensIssued).toBe(2);
  expect(at.server.posts.map(visibleText)).toEqual(['one', 'two']);
});

test('F34 a token that is refused again is a refusal of the credentials, not a loop', async () => {
  const at = await scene();
  const refused = { match: SEND, kind: 'error', status: 400, code: 99991663, msg: 'Invalid access token' } as const;
  at.server.faults.push(refused, refused, refused);
  expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'refused', reason: 'auth' });
  expect(at.server.faults).toHaveLength(1);
  expect(at.server.posts).toEqual([]);
});

test('a call whose token could not be had never left', async () => {
  const at = await scene();
  for (const status of [502, 500]) {
    at.server.revokeToken();
    at.server.faults.push({ match: /tenant_access_token/, kind: 'page', status });
    expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'retry' });
  }
  at.server.revokeToken();
  at.server.faults.push({ match: /tenant_access_token/, kind: 'drop' });
  expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'retry' });
  at.server.revokeToken();
  at.server.faults.push({ match: /tenant_access_token/, kind: 'error', status: 200, code: 10014, msg: 'app secret invalid' });
  expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'refused', reason: 'auth' });
  expect(at.server.posts).toEqual([]);
});

test('F35 limits of a chat and of the account are told apart, with the wait the platform states', async () => {
  const at = await scene();
  const limited = (code: number, headers: Record<string, string>) =>
    at.server.faults.push({ match: SEND, kind: 'error', status: 400, code, headers });
  limited(230020, {});
  expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'retry', scope: 'chat', afterMs: 1_000 });
  limited(99991400, { 'x-ogw-ratelimit-reset': '1.5' });
  expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'retry', scope: 'account', afterMs: 1_500 });
  limited(11232, { 'retry-after': '60' });
  expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'retry', scope: 'account', afterMs: 60_000 });
  limited(99991400, { 'x-ogw-ratelimit-reset': 'soon' });
  expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'retry', afterMs: 1_000 });
  expect(at.server.posts).toEqual([]);
});

test('a part whose time ends while it waits for a token has not left', async () => {
  const at = await scene({ settings: { send_timeout_secs: 2 } });
  at.server.revokeToken();
  at.server.faults.push({ match: /tenant_access_token/, kind: 'hang' });
  // The call with the old token was refused, and did nothing.
  expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'retry', scope: 'part' });
  expect(at.server.posts).toEqual([]);
});

test('F37 an answer that never comes is unknown, and the second attempt posts nothing twice', async () => {
  const at = await scene({ settings: { send_timeout_secs: 2 } });
  at.server.faults.push({ match: SEND, kind: 'hang' });
  expect(await at.send({ text: 'once' })).toMatchObject({ kind: 'unknown' });
  const second = await at.send({ text: 'once' });
  expect(second).toEqual({ kind: 'sent', platformId: at.server.posts[0]?.id });
  expect(at.server.posts).toHaveLength(1);
});

test('F37 an answer that is not the API is unknown', async () => {
  const at = await scene();
  for (const status of [200, 500, 504]) {
    at.server.faults.push({ match: SEND, kind: 'page', status });
    expect(await at.send({ text: 'x', key: String(status) })).toMatchObject({ kind: 'unknown' });
  }
});

test('A8 A18 a redirect is not followed, so the token goes nowhere else', async () => {
  const seen: (string | undefined)[] = [];
  const elsewhere = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('{}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  open.push({ [Symbol.asyncDispose]: () => new Promise((resolve) => elsewhere.close(() => resolve())) });
  const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
  const at = await scene();
  at.server.faults.push({ match: SEND, kind: 'page', status: 307, headers: { location } });
  expect(await at.send({ text: 'x' })).toMatchObject({ kind: 'refused' });
  at.server.faults.push({ match: /resources/, kind: 'page', status: 302, headers: { location } });
  await expect(at.channel.download?.({ kind: 'photo', ref: 'om_1:image:k' }, signal)).rejects.toMatchObject({ code: 'GH1505' });
  expect(seen).toEqual([]);
});

test('the answer to a question that was taken back goes to the chat itself', async () => {
  const at = await scene();
  at.server.withdrawn.add('om_gone');
  const part = { chatId: 'oc_team', text: 'still useful', replyContext: { messageId: 'om_gone', group: true } };
  expect(await at.send(part)).toMatchObject({ kind: 'retry', afterMs: 0, scope: 'part' });
  expect(await at.send(part)).toMatchObject({ kind: 'sent' });
  expect(at.server.posts).toMatchObject([{ chatId: 'oc_team', type: 'text' }]);
  expect(at.server.posts[0]).not.toHaveProperty('parentId');
});

test('A37 an answer does not leave its thread when the question was taken back', async () => {
  const at = await scene();
  at.server.withdrawn.add('om_gone');
  const part = { chatId: 'oc_team', threadId: 'omt_1', text: 'x', replyContext: { messageId: 'om_gone', group: true } };
  expect(await at.send(part)).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
  expect(await at.send(part)).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
  expect(at.server.posts).toEqual([]);
});

test('F36 what a card refuses goes out as plain text at the second attempt', async () => {
  const at = await scene();
  at.server.faults.push({ match: SEND, kind: 'error', status: 400, code: 230099, msg: 'Failed to create card content' });
  expect(await at.send({ text: '# a' })).toMatchObject({ kind: 'refused', reason: 'markup' });
  expect(await at.send({ text: '# a' }, true)).toMatchObject({ kind: 'sent' });
  expect(at.server.posts.map((post) => [post.type, visibleText(post)])).toEqual([['text', '# a']]);
});

async function fileOf(bytes: string, override: Partial<OutboundFile> = {}): Promise<OutboundFile> {
  const dir = await tempDir();
  open.push(dir);
  const path = join(dir.path, 'copy');
  await writeFile(path, bytes);
  return { path, name: 'r.txt', mime: 'text/plain', kind: 'document', bytes: bytes.length, ...override };
}

test('F37 an upload without an answer was seen by nobody, so the part is tried again', async () => {
  const at = await scene();
  const file = await fileOf('report');
  for (const fault of ['drop', 'page'] as const) {
    at.server.faults.push(fault === 'drop' ? { match: /files$/, kind: 'drop' } : { match: /files$/, kind: 'page', status: 502 });
    expect(await at.send({ text: '', file })).toMatchObject({ kind: 'retry' });
  }
  at.server.faults.push({
    match: /files$/,
    kind: 'error',
    status: 400,
    code: 234006,
    msg: 'The file size exceed the max value.',
  });
  expect(await at.send({ text: '', file })).toMatchObject({ kind: 'refused', reason: 'invalid' });
  expect(at.server.posts).toEqual([]);
  at.server.revokeToken();
  expect(await at.send({ text: '', file })).toMatchObject({ kind: 'sent' });
  expect(at.server.posts).toHaveLength(1);
  expect(at.server.uploads.get(String(at.server.posts[0]?.content['file_key']))).toMatchObject({
    name: 'r.txt',
    bytes: Buffer.from('report'),
  });
});

test('a file that is gone is refused before anything leaves', async () => {
  const at = await scene();
  const file = await fileOf('x', { path: '/nonexistent/copy' });
  expect(await at.send({ text: '', file })).toMatchObject({ kind: 'refused', reason: 'invalid' });
  expect(at.server.calls.some((call) => call.includes('/files'))).toBe(false);
});

test('an edit after a restart asks what the message is, and changes only what can be changed', async () => {
  const at = await scene();
  const sent = await at.send({ text: '- a card' });
  if (sent.kind !== 'sent') throw new Error('not sent');
  const second = await at.create();
  open.push({ [Symbol.asyncDispose]: () => second.stop() });
  const part = outbound({ channel: 'feishu', account: at.server.appId, chatId: 'oc_ou_ada', text: 'plain words' });
  expect(await second.edit?.(sent.platformId, part, { plain: false, signal })).toEqual(sent);
  expect(at.server.posts[0]).toMatchObject({ type: 'interactive', edits: 1 });
  at.server.say({ type: 'image', content: { image_key: 'k' }, messageId: 'om_image' });
  expect(await second.edit?.('om_image', part, { plain: false, signal })).toMatchObject({ kind: 'refused', reason: 'invalid' });
  expect(await second.edit?.('om_never', part, { plain: false, signal })).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
  at.server.faults.push({ match: /^PATCH/, kind: 'error', status: 400, code: 230020 });
  expect(await second.edit?.(sent.platformId, part, { plain: false, signal })).toMatchObject({ kind: 'retry', scope: 'chat' });
});

test('a text message stays one that a text message can be, however rich its edit is', async () => {
  const at = await scene();
  const sent = await at.send({ text: 'words' });
  if (sent.kind !== 'sent') throw new Error('not sent');
  const part = outbound({ channel: 'feishu', account: at.server.appId, chatId: 'oc_ou_ada', text: '# now\n\n- a\n- b' });
  expect(await at.channel.edit?.(sent.platformId, part, { plain: false, signal })).toEqual(sent);
  expect(visibleText({ type: 'post', content: at.server.posts[0]?.content ?? {} })).toBe('now\n \n• a\n• b');
});

test('choices that join a text already shown are listed in it, because only a card has buttons', async () => {
  const at = await scene();
  const sent = await at.send({ text: 'words' });
  if (sent.kind !== 'sent') throw new Error('not sent');
  const choices = ['Tea', 'Coffee'].map((label) => ({ label, value: label }));
  const part = outbound({ channel: 'feishu', account: at.server.appId, chatId: 'oc_ou_ada', text: 'Which?', choices });
  expect(await at.channel.edit?.(sent.platformId, part, { plain: false, signal })).toEqual(sent);
  expect(at.server.posts[0]).toMatchObject({ type: 'post', edits: 1 });
  expect(visibleText({ type: 'post', content: at.server.posts[0]?.content ?? {} })).toContain('1. Tea\n2. Coffee');
});

test('an emoji that is no reaction here is refused, and a reaction that is gone does not stop the next', async () => {
  const at = await scene();
  const target = { chatId: 'oc_ou_ada', platformId: 'om_1' };
  at.server.say({ messageId: 'om_1', text: 'please' });
  await at.message();
  await expect(at.channel.react?.(target, '🦖', signal)).rejects.toThrow('no reaction 🦖');
  expect(at.server.calls.some((call) => call.includes('reactions'))).toBe(false);
  await at.channel.react?.(target, '👀', signal);
  at.server.reactions.clear();
  await expect(at.channel.react?.(target, '✅', signal)).rejects.toThrow('231007');
  await at.channel.react?.(target, '✅', signal);
  expect([...at.server.reactions.values()]).toEqual([{ messageId: 'om_1', emoji: 'DONE' }]);
});

const QUESTION = { chatId: 'oc_ou_ada', platformId: 'om_question' };

/** As after a kill: an adapter that knows nothing of what another one of the same app has put. */
async function afterKill(emoji: string): Promise<{ readonly at: FeishuScene; readonly second: Channel }> {
  const at = await scene();
  at.server.say({ messageId: 'om_question', text: 'please' });
  await at.message();
  await at.channel.react?.(QUESTION, emoji, signal);
  const second = await at.create();
  open.push({ [Symbol.asyncDispose]: () => second.stop() });
  return { at, second };
}

const isList = (call: string): boolean => call === 'GET /open-apis/im/v1/messages/om_question/reactions';

test('a reaction that a killed process left is found among those of people, and taken away', async () => {
  const { at, second } = await afterKill('👀');
  const peoples = Array.from({ length: 120 }, (_, n) => ({ messageId: 'om_question', emoji: 'GLANCE', openId: `ou_${n}` }));
  const [own] = [...at.server.reactions];
  at.server.reactions.clear();
  for (const [n, one] of peoples.entries()) at.server.reactions.set(`r_p${n}`, one);
  if (own) at.server.reactions.set(...own);
  await second.react?.(QUESTION, undefined, signal);
  expect([...at.server.reactions.values()]).toEqual(peoples);
  expect(at.server.calls.filter(isList)).toHaveLength(3);
});

test('a reaction that a killed process left is taken away for another one, and the same one stays as it is', async () => {
  const { at, second } = await afterKill('👀');
  const before = [...at.server.reactions.keys()];
  await second.react?.(QUESTION, '👀', signal);
  expect([...at.server.reactions.keys()]).toEqual(before);
  const third = await at.create();
  open.push({ [Symbol.asyncDispose]: () => third.stop() });
  await third.react?.(QUESTION, '✅', signal);
  expect([...at.server.reactions.values()]).toEqual([{ messageId: 'om_question', emoji: 'DONE' }]);
});

test('under a message that arrived in this process no reaction is looked for', async () => {
  const at = await scene();
  at.server.say({ messageId: 'om_question', text: 'please' });
  await at.message();
  for (const emoji of ['👀', undefined]) await at.channel.react?.(QUESTION, emoji, signal);
  expect(at.server.calls.filter(isList)).toEqual([]);
});

test('without the scope to read reactions what was left stays, a new one is put, and the log says so once', async () => {
  const { at, second } = await afterKill('👀');
  at.server.missingScopes.add('im:message.reactions:read');
  await expect(second.react?.(QUESTION, undefined, signal)).rejects.toThrow('99991672');
  await second.react?.(QUESTION, '✅', signal);
  expect([...at.server.reactions.values()].map(({ emoji }) => emoji)).toEqual(['GLANCE', 'DONE']);
  const told = at.logger.lines.filter(({ event }) => event === 'feishu.reactions-closed');
  expect(told).toMatchObject([{ data: { hint: expect.stringContaining('im:message.reactions:read') } }]);
});

test('a file that is JSON is the file, whatever it says', async () => {
  const at = await scene();
  at.server.files.set('k.json', Buffer.from('{"code":1}'));
  const file = await at.channel.download?.({ kind: 'document', ref: 'om_1:file:k.json' }, signal);
  expect(await new Response(ReadableStream.from(file?.bytes ?? [])).text()).toBe('{"code":1}');
});

test('F39 a file that ends early, is refused, or takes too long is GH1505', async () => {
  const at = await scene({ settings: { download_timeout_secs: 1 } });
  at.server.files.set('k', Buffer.from('bytes'));
  const media = { kind: 'document', ref: 'om_1:file:k' } as const;
  const read = async (): Promise<void> => {
    const file = await at.channel.download?.(media, signal);
    for await (const chunk of file?.bytes ?? []) expect(chunk.length).toBeGreaterThan(0);
  };
  await read();
  at.server.faults.push({ match: /resources/, kind: 'error', status: 400, code: 234003 });
  await expect(read()).rejects.toMatchObject({ code: 'GH1505' });
  at.server.faults.push({ match: /resources/, kind: 'error', status: 400, code: 234037 });
  await expect(read()).rejects.toMatchObject({ code: 'GH1504' });
  at.server.faults.push({ match: /resources/, kind: 'hang' });
  await expect(read()).rejects.toMatchObject({ code: 'GH1505' });
});

test('a card is changed five times a second and for 14 days, and is told why it is not changed later', async () => {
  const at = await scene();
  const sent = await at.send({ text: '# T' });
  if (sent.kind !== 'sent') throw new Error('not sent');
  const [post] = at.server.posts;
  const edit = (text: string) =>
    at.channel.edit?.(sent.platformId, outbound({ channel: 'feishu', chatId: 'oc_ou_ada', text }), { plain: false, signal });
  for (let index = 0; index < 5; index += 1) expect(await edit(`# ${index}`)).toEqual(sent);
  // All of one second, however long this machine takes.
  Object.assign(post ?? {}, { editedAt: Array.from({ length: 5 }, () => Date.now() + 60_000) });
  expect(await edit('# again')).toMatchObject({ kind: 'retry', scope: 'chat' });
  Object.assign(post ?? {}, { at: Date.now() - 15 * 86_400_000, editedAt: [] });
  expect(await edit('# later')).toMatchObject({ kind: 'refused', reason: 'invalid' });
});

test('a part of an answer fits as rich text too, which is what a message that began as words becomes', async () => {
  await using at = await feishuScene();
  const text = `The numbers:\n\n${Array.from({ length: 3_000 }, (_, n) => `- ${n % 10}`).join('\n')}`;
  const parts = planParts({ message: inbound(), text, files: [], limits: at.channel.limits, now: 0, expiresInMs: 1 });
  const sizes = parts.map(({ part }) => {
    const { content } = toMessage(part, { plain: false, isGroup: false, form: 'post' });
    return Buffer.byteLength(JSON.stringify(JSON.stringify(content)));
  });
  expect(sizes.length).toBeGreaterThan(2);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(30_000);
});
