import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { InboundMessage, RefusalReason } from '../core/message.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, inbound, tempDir } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { type AccessRules, decideAccess } from './access.ts';

const NOBODY: AccessRules = {
  local: false,
  allowedSenders: [],
  allowedGroups: [],
  groupMode: 'mention',
  groupPatterns: [],
  groupVoice: false,
};
const GROUP = { isGroup: true, chatId: 'group-1' } as const;

/** Decisions against a real pairing store. */
async function setUp(path: string) {
  const clock = new FakeClock();
  const { journal, pairing } = await openJournal({ dir: path, clock, highWater: 100, onFatal: () => undefined });
  return {
    clock,
    pairing,
    decide: (message: Partial<InboundMessage>, rules: Partial<AccessRules> = {}) =>
      decideAccess(inbound(message), { ...NOBODY, ...rules }, pairing, clock),
    [Symbol.asyncDispose]: () => journal[Symbol.asyncDispose](),
  };
}

const refused = (reason: RefusalReason) => ({ kind: 'refused', reason });
const ALLOWED = { kind: 'allowed' };

it('A1 an empty allow-list admits nobody: a stranger gets a code once, then nothing until it is time to repeat it', async () => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  const first = await at.decide({ text: 'hello' });
  expect(first).toMatchObject({ kind: 'pair', code: expect.stringMatching(/^[A-Z0-9]{8}$/) });
  expect(await at.decide({ text: 'hello?' })).toEqual(refused('pairing-required'));
  await at.clock.advance(600_000);
  expect(await at.decide({ text: 'anybody there?' })).toEqual(first);
});

it('A1 of a stranger’s words the model sees nothing, and the journal keeps nothing', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'leaked');
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: { allowed_senders: [] } });
  await rig.channel.deliver({ text: 'my secret words', replyTo: { platformId: 'q', text: 'quoted words', fromBot: false } });
  await rig.channel.deliver({ text: 'more secret words' });
  await rig.channel.deliver({ text: '/help' });
  await rig.channel.deliver({ text: 'stop' });
  await rig.daemon.gateway.idle();
  expect(model.requests).toEqual([]);
  expect(rig.channel.texts()).toEqual([expect.stringMatching(/^This assistant is private.*pair approve [A-Z0-9]{8}/s)]);
  expect((await rig.daemon.journal.counts()).refused).toEqual([{ channel: 'test', reason: 'pairing-required', count: 3 }]);
  await rig.daemon.close();
  const stored = (await readFile(join(dir.path, 'journal.db'))).toString('latin1');
  for (const words of ['secret words', 'quoted words']) expect(stored).not.toContain(words);
});

it('A1 whoever was approved is let in, and whoever was denied is refused without an answer', async () => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  for (const [senderId, verb, outcome] of [
    ['ada', 'approve', ALLOWED],
    ['eve', 'deny', refused('denied')],
  ] as const) {
    const asked = await at.decide({ senderId });
    await at.pairing[verb](asked.kind === 'pair' ? asked.code : '', at.clock.now());
    expect(await at.decide({ senderId })).toEqual(outcome);
  }
});

it('A2 of a flood of strangers ten get a code; the rest is refused without one', async () => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  const kinds: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    const decision = await at.decide({ senderId: `stranger-${n}` });
    kinds.push(decision.kind === 'refused' ? decision.reason : decision.kind);
  }
  expect(kinds).toEqual([...Array.from({ length: 10 }, () => 'pair'), ...Array.from({ length: 10 }, () => 'not-allowed')]);
});

it.each([
  ['the display name of an allowed person', { senderId: '666', senderName: '42' }],
  ['an id that contains an allowed one', { senderId: '42|666' }],
  ['an allowed id with a space', { senderId: '42 ' }],
  ['an allowed id in other digits', { senderId: '４２' }],
  ['an id that an allowed one begins with', { senderId: '4' }],
  ['an id that only differs in case', { senderId: 'ADA@example.org' }],
  ['no id', { senderId: '' }],
])('A3 %s does not let a stranger in', async (_what, message) => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  expect((await at.decide(message, { allowedSenders: ['42', 'ada@example.org'] })).kind).not.toBe('allowed');
  expect(await at.decide({ senderId: '42' }, { allowedSenders: ['42', 'ada@example.org'] })).toEqual(ALLOWED);
});

it.each([
  ['an allowed person in a group that is not', { senderId: '42' }, {}, 'group-not-allowed'],
  ['another member of an allowed group', { senderId: '7' }, { allowedGroups: ['group-1'] }, 'not-allowed'],
  [
    'a group whose title is that of an allowed one',
    { senderId: '42', chatId: 'group-2' },
    { allowedGroups: ['group-1'] },
    'group-not-allowed',
  ],
  ['an allowed person who speaks to others', { senderId: '42' }, { allowedGroups: ['group-1'] }, 'not-mentioned'],
  ['an edit by another member', { senderId: '7', kind: 'edit' }, { allowedGroups: ['*'] }, 'not-allowed'],
] as const)('A4 %s is refused without a reply', async (_what, message, rules, reason) => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  expect(await at.decide({ ...GROUP, ...message }, { allowedSenders: ['42'], ...rules })).toEqual(refused(reason));
  expect(await at.pairing.list(at.clock.now())).toEqual([]);
});

it.each([
  ['mentions the bot', { mentionsBot: true }, 'mention'],
  ['replies to the bot', { replyTo: { platformId: 'q', text: 'x', fromBot: true } }, 'mention'],
  ['says anything, where everything is answered', {}, 'always'],
] as const)('A4 an allowed person in an allowed group who %s is answered', async (_what, message, groupMode) => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  const rules = { allowedSenders: ['42'], allowedGroups: ['group-1'], groupMode };
  expect(await at.decide({ ...GROUP, senderId: '42', ...message }, rules)).toEqual(ALLOWED);
});

it('A4 an edit that does not speak to the bot may only correct what did', async () => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  const rules = { allowedSenders: ['42'], allowedGroups: ['group-1'] };
  expect(await at.decide({ ...GROUP, senderId: '42', kind: 'edit' }, rules)).toEqual({ kind: 'correction' });
  expect(await at.decide({ ...GROUP, senderId: '42', kind: 'edit', mentionsBot: true }, rules)).toEqual(ALLOWED);
});

it('A4 a reply to somebody else in a group does not speak to the bot', async () => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  const replyTo = { platformId: 'q', text: 'x', fromBot: false };
  const rules = { allowedSenders: ['*'], allowedGroups: ['*'] };
  expect(await at.decide({ ...GROUP, replyTo }, rules)).toEqual(refused('not-mentioned'));
});

it.each(['bot-author', 'own-message', 'automatic-mail', 'forged-sender', 'loop-cap'] as const)(
  'A5 what the adapter refused as %s is refused, whoever is allowed, and asks for no code',
  async (refusal) => {
    await using dir = await tempDir();
    await using at = await setUp(dir.path);
    for (const rules of [{}, { allowedSenders: ['*'] }, { local: true }]) {
      expect(await at.decide({ refusal }, rules)).toEqual(refused(refusal));
    }
    expect(await at.pairing.list(at.clock.now())).toEqual([]);
  },
);

it('an empty message is refused before anything else is asked, one with a file is not empty', async () => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  expect(await at.decide({ text: ' \n ' })).toEqual(refused('empty'));
  expect(await at.decide({ text: '', media: [{ kind: 'photo', ref: 'f' }] }, { allowedSenders: ['*'] })).toEqual(ALLOWED);
});

it('the bare name of the agent points at what it stands under, and is empty alone', async () => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  const rules = { allowedSenders: ['*'], allowedGroups: ['group-1'] };
  const bare = { ...GROUP, text: '', mentionsBot: true };
  const quoted = { platformId: 'q', fromBot: false };
  for (const more of [{ text: 'x' }, { media: [{ kind: 'photo', ref: 'f' }] as const }, { origin: 'which could not be fetched' }])
    expect(await at.decide({ ...bare, replyTo: { ...quoted, ...more } }, rules)).toEqual(ALLOWED);
  expect(await at.decide({ ...bare, replyTo: quoted }, rules)).toEqual(refused('empty'));
  expect(await at.decide({ ...bare, mentionsBot: false, replyTo: { ...quoted, text: 'x' } }, rules)).toEqual(refused('empty'));
});

it('who writes the bare name in reply to a message has the agent asked about that', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'it is a plan');
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: { allowed_senders: ['*'], allowed_groups: ['*'] } });
  const replyTo = { platformId: 'q', text: 'the plan', origin: 'written by Bob, not by the sender', fromBot: false };
  await rig.channel.deliver({ ...GROUP, text: '', mentionsBot: true, replyTo });
  await rig.daemon.gateway.idle();
  expect(JSON.stringify(model.requests[0]?.messages)).toContain(
    'in reply to another message (written by Bob, not by the sender): “the plan”',
  );
  expect(rig.channel.texts(GROUP.chatId)).toEqual(['it is a plan']);
});

it('the terminal of the owner needs no list', async () => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  expect(await at.decide({ senderId: 'local' }, { local: true })).toEqual(ALLOWED);
});

it('A4 whoever was approved may speak in an allowed group too; a stranger there asks for nothing', async () => {
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  const rules = { allowedGroups: ['group-1'], groupMode: 'always' } as const;
  const asked = await at.decide({ senderId: '7', text: 'hello' });
  expect(await at.decide({ senderId: '7', ...GROUP }, rules)).toEqual(refused('not-allowed'));
  await at.pairing.approve(asked.kind === 'pair' ? asked.code : '', at.clock.now());
  expect(await at.decide({ senderId: '7', ...GROUP }, rules)).toEqual(ALLOWED);
  expect(await at.decide({ senderId: '8', ...GROUP }, rules)).toEqual(refused('not-allowed'));
  expect(await at.pairing.list(at.clock.now())).toHaveLength(1);
});

it('in mode `pattern` a group message that fits a pattern is answered, and a mention still is', async () => {
  const rules = {
    allowedGroups: ['group-1'],
    allowedSenders: ['42'],
    groupMode: 'pattern',
    groupPatterns: [/^robot\b/iu],
  } as const;
  await using dir = await tempDir();
  await using at = await setUp(dir.path);
  const group = { ...GROUP, senderId: '42', mentionsBot: false };
  expect(await at.decide({ ...group, text: 'Robot, what time is it?' }, rules)).toEqual({ kind: 'allowed' });
  expect(await at.decide({ ...group, text: 'ask the robot' }, rules)).toEqual(refused('not-mentioned'));
  expect(await at.decide({ ...group, text: 'hello', mentionsBot: true }, rules)).toEqual({ kind: 'allowed' });
  expect(await at.decide({ ...group, text: `${' '.repeat(5_000)}robot` }, rules)).toEqual(refused('not-mentioned'));
});
