import { afterEach, expect, test } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import { abandonedKey, draftKey, partKey } from '../../../src/core/ids.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import { unfinished } from '../../../src/lib/draft-text.ts';
import { visibleText } from '../../../src/simulator/feishu/posts.ts';
import { FakeClock, outbound } from '../../../src/testing/fakes.ts';
import { type FeishuScene, feishuScene } from '../../../src/testing/feishu/scene.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

const { signal } = new AbortController();
const RUN = 'run-1';
const SEND = /^POST \/open-apis\/im\/v1\/messages$/;
const CARD_CALL = /cardkit/;

async function scene(options: Parameters<typeof feishuScene>[1] = {}): Promise<FeishuScene> {
  const at = await feishuScene('ws', options);
  open.push(at);
  return at;
}

const part = (key: string, text: string, more: Partial<OutboundPart> = {}): OutboundPart =>
  outbound({ channel: 'feishu', account: 'bot', chatId: 'oc_ou_ada', messageId: RUN, key, text, ...more });
const growing = (text: string) => part(draftKey(RUN), unfinished(text));
const last = (text: string, more: Partial<OutboundPart> = {}) => part(partKey(RUN, 0), text, { edits: draftKey(RUN), ...more });

/** The first words of an answer, sent. */
async function begun(at: FeishuScene, text = 'The first words'): Promise<string> {
  const sent = await at.channel.send(growing(text), { plain: false, signal });
  if (sent.kind !== 'sent') throw new Error(`not sent: ${JSON.stringify(sent)}`);
  return sent.platformId;
}

const edit = (channel: Channel, id: string, to: OutboundPart, plain = false) => channel.edit?.(id, to, { plain, signal });
const calls = (at: FeishuScene, pattern: RegExp) => at.server.calls.filter((call) => pattern.test(call)).length;
const elementsOf = (at: FeishuScene) =>
  ((at.server.posts[0]?.content['body'] ?? {}) as { elements?: readonly { readonly content: string }[] }).elements ?? [];
const shown = (at: FeishuScene) => at.server.posts.map((post) => visibleText(post));

test('an answer grows in one streaming card and ends whole in it, out of streaming mode', async () => {
  const at = await scene();
  const id = await begun(at);
  expect(at.server.posts).toMatchObject([{ type: 'interactive', cardId: expect.any(String) }]);
  expect(shown(at)).toEqual(['The first words']);
  expect(at.server.cards.isStreaming(id)).toBe(true);
  expect(await edit(at.channel, id, growing('The first words and **some** more'))).toEqual({ kind: 'sent', platformId: id });
  expect(shown(at)).toEqual(['The first words and some more']);
  expect(await edit(at.channel, id, last('All of it:\n\n| a | b |\n|---|---|\n| 1 | 2 |'))).toEqual({
    kind: 'sent',
    platformId: id,
  });
  expect(shown(at)).toEqual(['All of it:\n\n| a | b |\n| --- | --- |\n| 1 | 2 |']);
  expect(at.server.cards.isStreaming(id)).toBe(false);
  expect(calls(at, /elements\/answer\/content$/)).toBe(1);
});

test('what is shown grows at its end, so that the app adds new words one by one', async () => {
  const at = await scene();
  const id = await begun(at, 'One');
  const words = ['One two', 'One two\nthree', 'One two\nthree\n\nfour'];
  let before = 'One';
  for (const text of words) {
    await edit(at.channel, id, growing(text));
    const content = elementsOf(at)[0]?.content ?? '';
    expect(content.startsWith(before)).toBe(true);
    before = content;
  }
});

test('a card takes more edits than a text message does, and delivery is told so', async () => {
  const at = await scene();
  expect(at.channel.limits.edits).toBe(20);
  const id = await begun(at, 'n');
  expect(at.channel.limits).not.toHaveProperty('edits');
  for (let n = 0; n < 30; n += 1) {
    // The platform takes ten calls a second.
    if (n % 8 === 7) await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await edit(at.channel, id, growing(`n ${n}`))).toEqual({ kind: 'sent', platformId: id });
  }
  expect(await edit(at.channel, id, last('done'))).toEqual({ kind: 'sent', platformId: id });
  expect(shown(at)).toEqual(['done']);
});

test('after a restart the same card goes on, and the numbers of its calls go on rising', async () => {
  const at = await scene();
  const id = await begun(at);
  await edit(at.channel, id, growing('The first words and'));
  const second = await at.create();
  open.push({ [Symbol.asyncDispose]: () => second.stop() });
  expect(await edit(second, id, growing('The first words and the next'))).toEqual({ kind: 'sent', platformId: id });
  expect(shown(at)).toEqual(['The first words and the next']);
  expect(await edit(second, id, last('whole'))).toEqual({ kind: 'sent', platformId: id });
  expect(shown(at)).toEqual(['whole']);
  expect(at.server.cards.made).toBe(1);
});

test('a clock that was set back during a restart does not stop a card', async () => {
  const now = Date.UTC(2026, 10, 23);
  const at = await scene({ clock: new FakeClock(now) });
  const id = await begun(at);
  await edit(at.channel, id, growing('The first words and'));
  const second = await at.create({ clock: new FakeClock(now - 2 * 86_400_000) });
  open.push({ [Symbol.asyncDispose]: () => second.stop() });
  expect(await edit(second, id, growing('The first words and the next'))).toEqual({ kind: 'sent', platformId: id });
  expect(await edit(second, id, last('whole'))).toEqual({ kind: 'sent', platformId: id });
  expect(shown(at)).toEqual(['whole']);
});

test('a card that left streaming mode after ten minutes is put back into it', async () => {
  const at = await scene();
  const id = await begun(at);
  at.server.cards.closeAll();
  expect(await edit(at.channel, id, growing('The first words and'))).toEqual({ kind: 'sent', platformId: id });
  expect(shown(at)).toEqual(['The first words and']);
  expect(at.server.cards.isStreaming(id)).toBe(true);
  at.server.cards.closeAll();
  expect(await edit(at.channel, id, last('whole'))).toEqual({ kind: 'sent', platformId: id });
  expect(shown(at)).toEqual(['whole']);
});

test('F37 a first message whose confirmation was lost is shown once, and what follows is written into the card that people see', async () => {
  const at = await scene();
  at.server.faults.push({ match: SEND, kind: 'drop' });
  expect(await at.channel.send(growing('One'), { plain: false, signal })).toMatchObject({ kind: 'unknown' });
  const id = await begun(at, 'One');
  expect(at.server.cards.made).toBe(2);
  await edit(at.channel, id, growing('One two'));
  expect(shown(at)).toEqual(['One two']);
});

test('a card that could not be made was not seen, so the part is tried again', async () => {
  const at = await scene();
  at.server.faults.push({ match: CARD_CALL, kind: 'drop' });
  expect(await at.channel.send(growing('One'), { plain: false, signal })).toMatchObject({ kind: 'retry', scope: 'part' });
  at.server.faults.push({ match: CARD_CALL, kind: 'error', status: 429, code: 99991400 });
  expect(await at.channel.send(growing('One'), { plain: false, signal })).toMatchObject({ kind: 'retry', scope: 'account' });
  at.server.faults.push({ match: CARD_CALL, kind: 'error', status: 400, code: 200220 });
  expect(await at.channel.send(growing('One'), { plain: false, signal })).toMatchObject({ kind: 'refused', reason: 'markup' });
  expect(at.server.posts).toEqual([]);
});

test('without the scope an answer grows as an ordinary message, the operator is told once, and the scope is asked for again an hour later', async () => {
  const clock = new FakeClock(Date.now());
  const at = await scene({ clock });
  at.server.missingScopes.add('cardkit:card:write');
  const id = await begun(at);
  expect(await edit(at.channel, id, growing('The first words and'))).toEqual({ kind: 'sent', platformId: id });
  expect(await edit(at.channel, id, last('whole'))).toEqual({ kind: 'sent', platformId: id });
  expect(at.server.posts).toMatchObject([{ type: 'text', content: { text: 'whole' } }]);
  expect(at.channel.limits.edits).toBe(20);
  at.server.posts.length = 0;
  await begun(at, 'again');
  const told = at.logger.lines.filter(({ event }) => event === 'feishu.streaming-cards-off');
  expect(told).toMatchObject([{ level: 'warn', data: { hint: expect.stringContaining('cardkit:card:write') } }]);
  expect(calls(at, CARD_CALL)).toBe(1);
  at.server.missingScopes.clear();
  at.server.posts.length = 0;
  await clock.advance(3_600_001);
  await begun(at, 'a card');
  expect(at.server.posts).toMatchObject([{ type: 'interactive', cardId: expect.any(String) }]);
});

test('where the platform does not say which card a message shows, the next answers grow as ordinary messages', async () => {
  const at = await scene();
  const id = await begun(at);
  at.server.faults.push({ match: /id_convert$/, kind: 'error', status: 404, code: 404, msg: 'gone' });
  expect(await edit(at.channel, id, last('whole'))).toMatchObject({ kind: 'refused' });
  expect(at.logger.lines.filter(({ event }) => event === 'feishu.streaming-cards-off')).toHaveLength(1);
  at.server.posts.length = 0;
  await begun(at, 'again');
  expect(at.server.posts).toMatchObject([{ type: 'text' }]);
});

test.each([1_500, 5_000, 90_235])(
  'error %i is the platform’s own trouble: the card of a message is asked for again, and answers go on growing in cards',
  async (code) => {
    const at = await scene();
    const id = await begun(at);
    at.server.faults.push({ match: /id_convert$/, kind: 'error', status: 400, code, msg: 'try again' });
    expect(await edit(at.channel, id, growing('The first words and'))).toMatchObject({ kind: 'unknown' });
    expect(at.logger.lines.filter(({ event }) => event === 'feishu.streaming-cards-off')).toEqual([]);
    expect(await edit(at.channel, id, last('whole'))).toEqual({ kind: 'sent', platformId: id });
    expect(shown(at)).toEqual(['whole']);
    at.server.posts.length = 0;
    await begun(at, 'again');
    expect(at.server.posts).toMatchObject([{ type: 'interactive', cardId: expect.any(String) }]);
  },
);

test.each([200_810, 5_000])('streaming mode that error %i kept on ends with the next try', async (code) => {
  const at = await scene();
  const id = await begun(at);
  at.server.faults.push({ match: /settings$/, kind: 'error', status: 400, code, msg: 'try again' });
  expect((await edit(at.channel, id, last('whole')))?.kind).toMatch(/^(retry|unknown)$/);
  expect(await edit(at.channel, id, last('whole'))).toEqual({ kind: 'sent', platformId: id });
  expect(calls(at, /settings$/)).toBe(2);
  expect(shown(at)).toEqual(['whole']);
  expect(at.server.cards.isStreaming(id)).toBe(false);
});

test('after a restart trouble of the platform does not hide which card a message shows', async () => {
  const at = await scene();
  const id = await begun(at);
  const second = await at.create();
  open.push({ [Symbol.asyncDispose]: () => second.stop() });
  at.server.faults.push({ match: /id_convert$/, kind: 'error', status: 400, code: 1_500, msg: 'try again' });
  expect(await edit(second, id, last('whole'))).toMatchObject({ kind: 'unknown' });
  expect(await edit(second, id, last('whole'))).toEqual({ kind: 'sent', platformId: id });
  expect(shown(at)).toEqual(['whole']);
  expect(at.server.cards.isStreaming(id)).toBe(false);
});

test('switched off, no card is made and nothing of cards is asked', async () => {
  const at = await scene({ settings: { streaming_cards: false } });
  const id = await begun(at, '- a list');
  await edit(at.channel, id, last('- a list\n- that ends'));
  expect(at.server.posts).toMatchObject([{ type: 'interactive', edits: 1 }]);
  expect(at.server.posts[0]).not.toHaveProperty('cardId');
  expect(calls(at, CARD_CALL)).toBe(0);
});

test('what does not grow is no card entity', async () => {
  const at = await scene();
  const sent = await at.send({ text: 'plain words' });
  expect(sent.kind).toBe('sent');
  expect(at.server.cards.made).toBe(0);
  expect(at.server.posts).toMatchObject([{ type: 'text' }]);
});

test('choices of an answer that grew are buttons of its card, and name the chat they were made for', async () => {
  const at = await scene();
  const id = await begun(at, 'Which');
  const choices = ['Tea', 'Coffee'].map((label) => ({ label, value: `take ${label}` }));
  await edit(at.channel, id, last('Which?', { choices, replyContext: { group: false } }));
  const elements = elementsOf(at);
  const value = { choice: 'take Tea', chat: 'oc_ou_ada', group: false };
  expect(elements[1]).toMatchObject({ tag: 'button', text: { content: 'Tea' }, behaviors: [{ type: 'callback', value }] });
  expect(elements).toHaveLength(3);
});

test('F36 an answer that is refused as a card goes into it as plain text, also while it grows', async () => {
  const at = await scene();
  const id = await begun(at);
  at.server.faults.push({ match: /PUT .*content$/, kind: 'error', status: 400, code: 200220 });
  at.server.faults.push({ match: /PUT .*cards\/\d+$/, kind: 'error', status: 400, code: 200220 });
  expect(await edit(at.channel, id, growing('**now**'))).toMatchObject({ kind: 'refused', reason: 'markup' });
  expect(await edit(at.channel, id, growing('**now**'), true)).toEqual({ kind: 'sent', platformId: id });
  expect(shown(at)).toEqual(['**now**']);
  expect(await edit(at.channel, id, last('**whole** <at>'), true)).toEqual({ kind: 'sent', platformId: id });
  expect(at.server.posts[0]?.content['body']).toMatchObject({ elements: [{ tag: 'div', text: { content: '**whole** <at>' } }] });
});

test('what was written when the agent was stopped stays, out of streaming mode', async () => {
  const at = await scene();
  const id = await begun(at);
  await edit(at.channel, id, part(abandonedKey(RUN), 'The first words (stopped)', { edits: draftKey(RUN), editOnly: true }));
  expect(shown(at)).toEqual(['The first words (stopped)']);
  expect(at.server.cards.isStreaming(id)).toBe(false);
});

test('F35 a limit of the platform is no end of the card', async () => {
  const at = await scene();
  const id = await begun(at);
  at.server.faults.push({
    match: CARD_CALL,
    kind: 'error',
    status: 429,
    code: 99991400,
    headers: { 'x-ogw-ratelimit-reset': '3' },
  });
  expect(await edit(at.channel, id, growing('more'))).toMatchObject({ kind: 'retry', afterMs: 3_000, scope: 'account' });
  expect(await edit(at.channel, id, last('whole'))).toEqual({ kind: 'sent', platformId: id });
});

test('half an answer whose card cannot be changed any more is taken back, also when it is gone already', async () => {
  const at = await scene();
  const id = await begun(at);
  at.server.faults.push({ match: /settings$/, kind: 'error', status: 400, code: 200750, msg: 'The card entity has expired' });
  at.server.faults.push({
    match: /PUT .*cards\/\d+$/,
    kind: 'error',
    status: 400,
    code: 200750,
    msg: 'The card entity has expired',
  });
  expect(await edit(at.channel, id, last('whole'))).toMatchObject({ kind: 'refused', reason: 'invalid' });
  const target = { chatId: 'oc_ou_ada', platformId: id };
  await at.channel.withdraw?.(target, signal);
  expect(at.server.posts).toEqual([]);
  at.server.faults.push({ match: /^DELETE/, kind: 'error', status: 400, code: 230011, msg: 'The message was withdrawn.' });
  await at.channel.withdraw?.(target, signal);
  at.server.faults.push({
    match: /^DELETE/,
    kind: 'error',
    status: 400,
    code: 230026,
    msg: 'No permission to recall this message.',
  });
  await expect(at.channel.withdraw?.(target, signal)).rejects.toThrow('230026');
});

test('who replies to an answer that grew points at all of it', async () => {
  const at = await scene();
  at.server.say({ text: 'hi' });
  await at.message();
  const id = await begun(at);
  await edit(at.channel, id, last('The first words and all the others'));
  at.server.say({ text: 'why?', parentId: id });
  expect((await at.message(1)).replyTo).toMatchObject({ text: 'The first words and all the others', fromBot: true });
});
