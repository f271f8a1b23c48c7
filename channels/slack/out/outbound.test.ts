import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { draftKey } from '../../../src/core/ids.ts';
import type { OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import { BOT_ID, BOT_USER, DIRECT } from '../../../src/simulator/slack/workspace.ts';
import { quickClock } from '../../../src/testing/channel-host.ts';
import { outbound, tempDir, until } from '../../../src/testing/fakes.ts';
import { type SlackSetup, slackSetup } from '../../../src/testing/slack/setup.ts';
import type { CallFailure } from '../../kit/call-error.ts';
import { channel as descriptor } from '../index.ts';
import { refusal } from '../wire/failure.ts';
import { metadataKey, toPost, toSendResult, toUpdate } from './outbound.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

/** Not started: sending needs no socket. */
async function scene(settings: Readonly<Record<string, unknown>> = {}, clock = quickClock()) {
  const at: SlackSetup = await slackSetup(descriptor, { settings, clock });
  open.push(at);
  const channel = await at.create();
  open.push({ [Symbol.asyncDispose]: () => channel.stop() });
  const part = (override: Partial<OutboundPart> = {}) => outbound({ channel: 'slack', chatId: DIRECT, ...override });
  const send = (override: Partial<OutboundPart> = {}, signal = new AbortController().signal) =>
    channel.send(part(override), { plain: false, signal });
  return { ...at, channel, part, send, signal: new AbortController().signal };
}

async function file(content: string, override: Partial<OutboundFile> = {}): Promise<OutboundFile> {
  const dir = await tempDir();
  open.push(dir);
  const path = join(dir.path, 'copy');
  await writeFile(path, content);
  return { path, name: 'report.txt', mime: 'text/plain', kind: 'document', bytes: Buffer.byteLength(content), ...override };
}

test.each<[string, CallFailure, object]>([
  ['429', { kind: 'limited', retryAfterMs: 7_000, scope: 'chat', detail: 'x' }, { kind: 'retry', afterMs: 7_000, scope: 'chat' }],
  ['ratelimited in words', refusal('ratelimited'), { kind: 'retry', scope: 'chat' }],
  ['never connected', { kind: 'unreached', detail: 'not connected: ECONNREFUSED' }, { kind: 'retry', scope: 'account' }],
  ['no answer', { kind: 'lost', detail: 'x' }, { kind: 'unknown' }],
  ['5xx', { kind: 'http', status: 502, detail: 'x' }, { kind: 'unknown' }],
  ['fatal_error, after which some of it may be done', refusal('fatal_error'), { kind: 'unknown' }],
  ['4xx', { kind: 'http', status: 413, detail: 'x' }, { kind: 'refused', reason: 'invalid' }],
  ['a revoked token', refusal('token_revoked'), { kind: 'refused', reason: 'auth' }],
  ['a missing scope', refusal('missing_scope', 'chat:write'), { kind: 'refused', reason: 'invalid', detail: /chat:write/ }],
  ['an organisation that is being moved', refusal('org_login_required'), { kind: 'retry', afterMs: 60_000, scope: 'account' }],
  ['no right in this conversation', refusal('no_permission'), { kind: 'refused', reason: 'blocked' }],
  ['an archived channel', refusal('is_archived'), { kind: 'refused', reason: 'chat-gone' }],
  ['not in the channel', refusal('not_in_channel'), { kind: 'refused', reason: 'chat-gone' }],
  ['a rule of the workspace', refusal('restricted_action_thread_only_channel'), { kind: 'refused', reason: 'blocked' }],
  ['too long', refusal('msg_too_long'), { kind: 'refused', reason: 'too-long' }],
  ['blocks it does not like', refusal('invalid_blocks'), { kind: 'refused', reason: 'markup' }],
  ['any other word', refusal('as_user_not_supported'), { kind: 'refused', reason: 'invalid' }],
])('F35 F36 F37 %s', (_name, failure, expected) => {
  const { detail, ...rest } = expected as { detail?: RegExp };
  expect(toSendResult(failure, 'chat')).toMatchObject({ ...rest, ...(detail && { detail: expect.stringMatching(detail) }) });
});

test('text keeps its markup however long it is; what renders to nothing goes out as it was written', async () => {
  expect(await toPost(outbound({ text: '**&** '.repeat(900) }), false)).toMatchObject({ mrkdwn: true, text: /\*&amp;\*/ });
  expect((await toPost(outbound({ text: '**short**' }), false))['text']).toBe('*short*');
  expect(await toPost(outbound({ text: '[](https://a.example)' }), false)).toMatchObject({ mrkdwn: false });
});

test.each([
  ['a link', 'a'.repeat(2_985), '[a label](https://a.example/page)', /<[^>]*$/],
  ['an entity', 'a'.repeat(2_990), '&', /&[a-z]*$/],
  ['a character of two units', 'a'.repeat(2_991), '🎉', /[\uD800-\uDBFF]$/],
])('no section ends within %s', async (_name, before, token, torn) => {
  const part = outbound({ text: `${before}${token}${'b'.repeat(500)}`, choices: [{ label: 'a', value: 'a' }] });
  const { blocks } = (await toPost(part, false)) as { blocks: { type: string; text?: { text: string } }[] };
  const sections = blocks.flatMap(({ type, text }) => (type === 'section' ? [text?.text ?? ''] : []));
  expect(sections).toHaveLength(2);
  expect(sections[0]).not.toMatch(torn);
  expect(sections.every((section) => section.length <= 3_000)).toBe(true);
});

test('an edit in plain text has no marks that the platform would read', async () => {
  const update = await toUpdate({ chatId: 'C1', ts: '1.2' }, outbound({ text: '*a* _b_ <!here>' }), true);
  expect(update).toMatchObject({ channel: 'C1', ts: '1.2', blocks: [], text: '*\u2060a* _\u2060b_ &lt;!here&gt;' });
});

test('choices become buttons under the text; a long text is cut into sections and its code goes on', async () => {
  const choices = [
    { label: 'Yes, please', value: 'yes' },
    { label: 'x'.repeat(100), value: 'no' },
  ];
  const code = `\`\`\`\n${'let x = 1;\n'.repeat(330)}\`\`\``;
  const { blocks } = (await toPost(outbound({ text: code, choices }), false)) as {
    blocks: { type: string; text?: { text: string } }[];
  };
  const sections = blocks.filter(({ type }) => type === 'section').map(({ text }) => text?.text ?? '');
  expect(sections).toHaveLength(2);
  for (const section of sections) {
    expect(section.length).toBeLessThanOrEqual(3_000);
    expect(section.split('```')).toHaveLength(3);
  }
  expect(blocks.at(-1)).toMatchObject({
    type: 'actions',
    elements: [
      { action_id: 'gatehouse_choice_0', value: 'yes', text: { type: 'plain_text', text: 'Yes, please' } },
      { action_id: 'gatehouse_choice_1', value: 'no', text: { text: 'x'.repeat(75) } },
    ],
  });
});

const TABLE = 'See:\n\n| Name | Age | City |\n|---|---|---|\n| Ada | 36 | London |\n\nThat is all.';
const ALIGNED = '```\nName | Age | City\n-----|-----|-------\nAda  | 36  | London\n```';

test('a table is a block between the words around it, and the text beside the blocks says all of it', async () => {
  const { text, blocks } = await toPost(outbound({ text: TABLE, choices: [{ label: 'Yes', value: 'yes' }] }), false);
  expect(text).toBe(`See:\n\n${ALIGNED}\n\nThat is all.`);
  expect(blocks).toMatchObject([
    { type: 'section', expand: true, text: { type: 'mrkdwn', text: 'See:' } },
    {
      type: 'table',
      rows: [
        [{ text: 'Name' }, { text: 'Age' }, { text: 'City' }],
        [{ text: 'Ada' }, {}, {}],
      ],
    },
    { type: 'section', expand: true, text: { type: 'mrkdwn', text: 'That is all.' } },
    { type: 'actions' },
  ]);
  // Sent again without markup, it is as it was written.
  expect((await toPost(outbound({ text: TABLE }), true))['blocks']).toBeUndefined();
});

test('F8 while an answer grows its table is text, its last text has a block, and a lost one is found by its key', async () => {
  const at = await scene();
  const shown = () => at.server.workspace.messages.map(({ blocks = [] }) => blocks.map(({ type }) => type));
  const draft = at.part({ key: 'run#draft', messageId: 'run', text: `${TABLE} …` });
  at.server.fault({ method: 'chat.postMessage', kind: 'drop' });
  expect(await at.channel.send(draft, { plain: false, signal: at.signal })).toMatchObject({ kind: 'unknown' });
  const platformId = `${DIRECT}:${at.server.sends[0]?.ts}`;
  expect(await at.channel.find?.(draft, at.signal)).toEqual({ platformId });
  expect(await at.channel.edit?.(platformId, draft, { plain: false, signal: at.signal })).toMatchObject({ kind: 'sent' });
  expect(shown()).toEqual([[]]);
  const last = at.part({ key: 'run#0', messageId: 'run', text: TABLE, edits: 'run#draft' });
  for (let n = 0; n < 2; n += 1) {
    expect(await at.channel.edit?.(platformId, last, { plain: false, signal: at.signal })).toMatchObject({ kind: 'sent' });
    expect(shown()).toEqual([['section', 'table', 'section']]);
  }
  const next = at.part({ key: 'run#1', text: TABLE });
  at.server.fault({ method: 'chat.postMessage', kind: 'drop' });
  expect(await at.channel.send(next, { plain: false, signal: at.signal })).toMatchObject({ kind: 'unknown' });
  expect(await at.channel.find?.(next, at.signal)).toEqual({ platformId: `${DIRECT}:${at.server.sends.at(-1)?.ts}` });
  // A correction without a table takes the block away.
  const plain = at.part({ key: 'other#0', text: 'No table.' });
  expect(await at.channel.edit?.(platformId, plain, { plain: false, signal: at.signal })).toMatchObject({ kind: 'sent' });
  expect(shown()[0]).toEqual([]);
});

test.each(['invalid_blocks', 'invalid_attachments', 'msg_blocks_too_long'])(
  'F35 a table that is refused with %s goes out as text, once, and the rest keeps its markup',
  async (error) => {
    const at = await scene();
    at.server.fault({ method: 'chat.postMessage', kind: 'error', error });
    const sent = await at.send({ text: `**Look**\n\n${TABLE}` });
    expect(at.server.sends).toMatchObject([{ text: `*Look*\n\nSee:\n\n${ALIGNED}\n\nThat is all.` }]);
    expect(at.server.sends[0]?.args['blocks']).toBeUndefined();
    at.server.fault({ method: 'chat.update', kind: 'error', error });
    const { platformId } = sent as { platformId: string };
    const options = { plain: false, signal: at.signal };
    expect(await at.channel.edit?.(platformId, at.part({ text: TABLE }), options)).toEqual({ kind: 'sent', platformId });
    expect(at.server.workspace.messages[0]).toMatchObject({ text: expect.stringContaining(ALIGNED), blocks: [] });
    // What was refused for another reason is not repeated.
    at.server.fault({ method: 'chat.postMessage', kind: 'error', error: 'is_archived' });
    expect(await at.send({ text: TABLE })).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
    // Nor is one that has no table: delivery tries it without markup.
    at.server.fault({ method: 'chat.postMessage', kind: 'error', error });
    expect(await at.send({ text: 'tea?', choices: [{ label: 'yes', value: 'yes' }] })).toMatchObject({ kind: 'refused' });
    expect(at.server.calls.filter(({ method }) => method === 'chat.postMessage')).toHaveLength(4);
  },
);

test('A31 a part goes to its thread, unfurls nothing, and carries a hash of its key', async () => {
  const at = await scene();
  const parent = at.server.store({ channel: 'C0TEST' });
  expect(await at.send({ chatId: 'C0TEST', threadId: parent.ts, text: 'hi' })).toMatchObject({ kind: 'sent' });
  const { args } = at.server.sends[0] ?? {};
  expect(args).toMatchObject({ thread_ts: parent.ts, unfurl_links: 'false', unfurl_media: 'false', parse: 'none' });
  expect(JSON.parse(String(args?.['metadata']))).toEqual({
    event_type: 'gatehouse_part',
    event_payload: { key: expect.stringMatching(/^[\da-f]{32}$/) },
  });
});

test('F8 F37 a lost answer is looked up by the key: found once, in the thread too, and absent when it was never taken', async () => {
  const at = await scene();
  const parent = at.server.store({ channel: 'C0TEST' });
  for (const place of [{}, { chatId: 'C0TEST', threadId: parent.ts }]) {
    const part = at.part({ ...place, key: JSON.stringify(place), text: 'maybe' });
    at.server.fault({ method: 'chat.postMessage', kind: 'drop' });
    expect(await at.channel.send(part, { plain: false, signal: at.signal })).toMatchObject({ kind: 'unknown' });
    expect(await at.channel.find?.(part, at.signal)).toEqual({ platformId: `${part.chatId}:${at.server.sends.at(-1)?.ts}` });
    at.server.fault({ method: 'chat.postMessage', kind: 'cut' });
    const lost = { ...part, key: `${part.key} 2` };
    expect(await at.channel.send(lost, { plain: false, signal: at.signal })).toMatchObject({ kind: 'unknown' });
    expect(await at.channel.find?.(lost, at.signal)).toBe('absent');
  }
});

test('F22 a lost answer is found although our clock is two days ahead, to a command as to nobody', async () => {
  const ahead = { ...quickClock(), now: () => Date.now() + 172_800_000 };
  const at = await scene({}, ahead);
  const { host } = await at.start();
  const command = { command: '/new', text: '', user_id: 'U0ADA', team_id: 'T0TEST', channel_id: DIRECT, trigger_id: '1.2' };
  at.server.sockets.deliver('slash_commands', command);
  const { replyContext } = await until('it arrived', () => host.accepted[0]);
  for (const part of [at.part({ key: 'one', ...(replyContext && { replyContext }) }), at.part({ key: 'two' })]) {
    at.server.fault({ method: 'chat.postMessage', kind: 'drop' });
    expect(await at.channel.send(part, { plain: false, signal: at.signal })).toMatchObject({ kind: 'unknown' });
    expect(await at.channel.find?.(part, at.signal)).toEqual({ platformId: `${DIRECT}:${at.server.sends.at(-1)?.ts}` });
  }
});

test('a part that answers nothing is found from its own time on, also after days', async () => {
  const at = await scene();
  const part = at.part({ key: 'question#0' });
  const [days, at3] = [86_400_000, Date.now() - 3 * 86_400_000];
  const metadata = { event_type: 'gatehouse_part', event_payload: { key: metadataKey(part) } };
  const ts = `${Math.floor(at3 / 1_000)}.000100`;
  at.server.workspace.add({ channel: DIRECT, ts, user: BOT_USER, bot_id: BOT_ID, text: 'answer', metadata });
  expect(await at.channel.find?.(part, at.signal, at3)).toEqual({ platformId: `${DIRECT}:${ts}` });
  expect(await at.channel.find?.(part, at.signal, at3 + 2 * days)).toBe('absent');
});

test('a key that somebody else wrote down proves nothing, and a platform that cannot be asked is no answer', async () => {
  const at = await scene();
  const part = at.part();
  await at.channel.send(part, { plain: false, signal: at.signal });
  const [sent] = at.server.workspace.messages;
  at.server.workspace.messages.length = 0;
  at.server.workspace.add({ ...sent, channel: DIRECT, text: 'forged', user: 'U0EVE' });
  expect(await at.channel.find?.(part, at.signal)).toBe('absent');
  at.server.fault({ method: 'conversations.history', kind: 'error', error: 'missing_scope' });
  expect(await at.channel.find?.(part, at.signal)).toBeUndefined();
});

test('a file goes up in three steps and is shown by the last, with its caption, in its thread', async () => {
  const at = await scene();
  const parent = at.server.store({ channel: 'C0TEST' });
  const sent = await at.send({
    chatId: 'C0TEST',
    threadId: parent.ts,
    text: '**see**',
    file: await file('the bytes', { name: 'a/b"c.txt' }),
  });
  expect(sent).toMatchObject({ kind: 'sent', platformId: expect.stringMatching(/^C0TEST:file:F/) });
  expect(at.server.sends).toMatchObject([{ text: '*see*', fileName: 'a_b"c.txt', threadTs: parent.ts }]);
  expect(at.server.sends[0]?.fileBytes?.toString()).toBe('the bytes');
  expect(at.server.calls.map(({ method }) => method)).toEqual([
    'files.getUploadURLExternal',
    'files.completeUploadExternal',
    'files.info',
  ]);
});

test('F37 of a file only the last step can be in doubt', async () => {
  const at = await scene();
  const document = await file('the bytes');
  for (const fault of [
    { method: 'files.getUploadURLExternal', kind: 'drop' },
    { method: 'upload', kind: 'cut' },
  ] as const) {
    at.server.fault(fault);
    expect(await at.send({ text: '', file: document })).toMatchObject({ kind: 'retry' });
  }
  expect(at.server.sends).toEqual([]);
  at.server.fault({ method: 'files.completeUploadExternal', kind: 'drop' });
  const part = at.part({ text: '', file: document });
  expect(await at.channel.send(part, { plain: false, signal: at.signal })).toMatchObject({ kind: 'unknown' });
  const found = { platformId: `${DIRECT}:${at.server.sends[0]?.ts}` };
  expect(await at.channel.find?.(part, at.signal)).toEqual(found);
  // After a restart its id is lost: name and size tell.
  const second = await at.create();
  expect(await second.find?.(part, at.signal)).toEqual(found);
  expect(await second.find?.({ ...part, file: { ...document, bytes: 3 } }, at.signal)).toBe('absent');
  await second.stop();
});

test('F37 a file is sent once it is shown, in doubt while it is only taken, and never sent twice while it may still be shown', async () => {
  const at = await scene();
  const { workspace } = at.server;
  const looks = () => at.server.calls.filter(({ method }) => method === 'files.info').length;
  workspace.holdsFiles = true;
  const sending = at.send({ text: '', key: 'slow', file: await file('scanned for a while') });
  await until('it was looked for', () => looks() > 1);
  workspace.showFiles();
  expect(await sending).toMatchObject({ kind: 'sent' });
  workspace.holdsFiles = true;
  const part = at.part({ text: '', key: 'never', file: await file('scanned for longer') });
  expect(await at.channel.send(part, { plain: false, signal: at.signal })).toMatchObject({ kind: 'unknown' });
  expect(await at.channel.find?.(part, at.signal)).toBeUndefined();
  workspace.showFiles();
  expect(await at.channel.find?.(part, at.signal)).toEqual({ platformId: `${DIRECT}:${at.server.sends.at(-1)?.ts}` });
});

test('F37 a file whose last step never arrived is absent; one that may not be asked for is looked up in the history', async () => {
  const at = await scene();
  const part = at.part({ text: '', file: await file('the bytes') });
  at.server.fault({ method: 'files.completeUploadExternal', kind: 'cut' });
  expect(await at.channel.send(part, { plain: false, signal: at.signal })).toMatchObject({ kind: 'unknown' });
  expect(await at.channel.find?.(part, at.signal)).toBe('absent');
  at.server.fault({ method: 'files.info', kind: 'error', error: 'missing_scope', times: 9 });
  expect(await at.channel.send(part, { plain: false, signal: at.signal })).toMatchObject({ kind: 'sent' });
  expect(await at.channel.find?.(part, at.signal)).toEqual({ platformId: `${DIRECT}:${at.server.sends.at(-1)?.ts}` });
});

test('F35 a limit on uploads concerns the account; F36 a file that is gone or empty is refused', async () => {
  const at = await scene();
  at.server.fault({ method: 'files.getUploadURLExternal', kind: 'limit', retryAfter: 4 });
  expect(await at.send({ file: await file('x') })).toMatchObject({ kind: 'retry', afterMs: 4_000, scope: 'account' });
  const gone = { ...(await file('x')), path: '/nonexistent/file' };
  expect(await at.send({ file: gone })).toMatchObject({ kind: 'refused', reason: 'invalid' });
  expect(await at.send({ file: await file('') })).toMatchObject({ kind: 'refused', reason: 'invalid' });
});

test('a limit without a stated wait is a limit still', async () => {
  const at = await scene();
  at.server.fault({ method: 'chat.postMessage', kind: 'limit' });
  expect(await at.send()).toMatchObject({ kind: 'retry', afterMs: 1_000, scope: 'chat' });
});

test('a proxy that answers with its own page leaves the outcome open', async () => {
  const at = await scene();
  at.server.fault({ method: 'chat.postMessage', kind: 'status', status: 200 });
  expect(await at.send()).toMatchObject({ kind: 'unknown' });
  at.server.fault({ method: 'chat.postMessage', kind: 'status', status: 503 });
  expect(await at.send()).toMatchObject({ kind: 'unknown' });
});

test('an answer that does not come in time is unknown, and the call is not repeated', async () => {
  const at = await scene({ send_timeout_secs: 10 });
  at.server.fault({ method: 'chat.postMessage', kind: 'hang' });
  expect(await at.send()).toMatchObject({ kind: 'unknown', detail: expect.stringContaining('no answer within') });
  expect(at.server.calls.filter(({ method }) => method === 'chat.postMessage')).toHaveLength(1);
});

test('an edit replaces the text, twice is once, and takes the buttons away', async () => {
  const at = await scene();
  const sent = await at.send({ text: 'one', choices: [{ label: 'a', value: 'a' }] });
  if (sent.kind !== 'sent') throw new Error('not sent');
  for (let round = 0; round < 2; round += 1) {
    const edited = await at.channel.edit?.(sent.platformId, at.part({ text: '**two**' }), { plain: false, signal: at.signal });
    expect(edited).toEqual(sent);
  }
  expect(at.server.workspace.messages.map(({ text }) => text)).toEqual(['*two*']);
  expect(at.server.calls.at(-1)?.args['blocks']).toBe('[]');
  const other = await at.channel.edit?.(`${DIRECT}:1.000001`, at.part(), { plain: false, signal: at.signal });
  expect(other).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
  const ofFile = await at.channel.edit?.(`${DIRECT}:file:F1`, at.part(), { plain: false, signal: at.signal });
  expect(ofFile).toMatchObject({ kind: 'refused', reason: 'invalid' });
});

test('a reaction replaces the one before it and can be taken away, after a restart too', async () => {
  const at = await scene();
  const { ts } = at.server.store();
  const platformId = `${DIRECT}:${ts}`;
  const reactions = () => [...(at.server.workspace.reactions.get(platformId)?.keys() ?? [])];
  const target = { chatId: DIRECT, platformId };
  await at.channel.react?.(target, '👀', at.signal);
  await at.channel.react?.(target, '👀', at.signal);
  expect(reactions()).toEqual(['eyes']);
  await at.channel.react?.(target, '✅', at.signal);
  expect(reactions()).toEqual(['white_check_mark']);
  const second = await at.create();
  await second.react?.(target, undefined, at.signal);
  expect(reactions()).toEqual([]);
  await second.react?.(target, ':party_parrot:', at.signal);
  expect(reactions()).toEqual(['party_parrot']);
  await expect(second.react?.(target, 'no such emoji', at.signal)).rejects.toThrow('no name is known');
  await expect(second.react?.({ ...target, platformId: 'command:1' }, '👀', at.signal)).rejects.toThrow('no message');
  expect(reactions()).toEqual(['party_parrot']);
  await second.stop();
});

test('typing is shown in a thread, and not asked for again when the app may not', async () => {
  const at = await scene();
  const statuses = () => at.server.calls.filter(({ method }) => method === 'assistant.threads.setStatus');
  await at.channel.typing?.({ chatId: DIRECT }, at.signal);
  expect(statuses()).toHaveLength(0);
  await at.channel.typing?.({ chatId: 'C0TEST', threadId: '1.000001' }, at.signal);
  expect(statuses()[0]?.args).toMatchObject({ channel_id: 'C0TEST', thread_ts: '1.000001' });
  at.server.fault({ method: 'assistant.threads.setStatus', kind: 'error', error: 'missing_scope' });
  await expect(at.channel.typing?.({ chatId: 'C0TEST', threadId: '1.000001' }, at.signal)).rejects.toThrow('missing_scope');
  await at.channel.typing?.({ chatId: 'C0TEST', threadId: '1.000001' }, at.signal);
  expect(statuses()).toHaveLength(2);
});

test('an answer that takes the place of its draft ends "is typing", as a draft that is taken away does; one that grows does not', async () => {
  const at = await scene();
  const { ts } = at.server.store({ channel: 'C0TEST' });
  const place = { chatId: 'C0TEST', threadId: ts };
  const options = { plain: false, signal: at.signal };
  const draft = at.part({ ...place, key: draftKey('m'), text: 'so f…' });
  const sent = await at.channel.send(draft, options);
  if (sent.kind !== 'sent') throw new Error('not sent');
  const { platformId } = sent;
  const statuses = () => at.server.calls.flatMap(({ method, args }) => (method.endsWith('setStatus') ? [args['status']] : []));
  await at.channel.typing?.(place, at.signal);
  await at.channel.edit?.(platformId, { ...draft, text: 'so fa…' }, options);
  await at.channel.edit?.(platformId, at.part({ ...place, key: 'm#0', text: 'so far' }), options);
  await until('it is over', () => statuses().length === 2);
  // None is shown any more.
  await at.channel.edit?.(platformId, at.part({ ...place, key: 'n#0', text: 'so good' }), options);
  await at.channel.typing?.(place, at.signal);
  await at.channel.withdraw?.({ ...place, platformId }, at.signal);
  await until('it is over', () => statuses().length === 4);
  expect(statuses()).toEqual(['is typing…', '', 'is typing…', '']);
});

test('no token is in anything that is told or logged', async () => {
  const at = await scene();
  at.server.loggedIn = false;
  const results = [await at.send(), await at.send({ file: await file('x') }), await at.channel.find?.(at.part(), at.signal)];
  await at.server.close();
  results.push(await at.send());
  const told = JSON.stringify([results, at.logger.lines]);
  expect(told).not.toContain(at.server.botToken);
  expect(told).toContain('invalid_auth');
  expect(at.server.calls.every(({ args }) => !JSON.stringify(args).includes(at.server.botToken))).toBe(true);
});
