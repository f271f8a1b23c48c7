import { expect, test } from 'vitest';
import type { Wondering } from '../core/asking.ts';
import type { Authority } from '../core/authority.ts';
import { LOCAL_OPERATOR } from '../core/job.ts';
import type { Address } from '../core/message.ts';
import type { RunRow } from '../core/run.ts';
import { openJournal } from '../journal/open.ts';
import { runOf } from '../testing/delivery-setup.ts';
import { FakeClock, outbound, tempDir } from '../testing/fakes.ts';
import { admit, message } from '../testing/journal-rows.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { RunAsking } from './asking.ts';
import { DailyCap } from './daily-cap.ts';
import { RunMessages } from './messages.ts';

const DAY_MS = 86_400_000;
const BEN: Authority = { principal: 'test:ben', role: 'member', mode: 'guarded', policies: [] };
const { signal } = new AbortController();
const chat = (chatId: string, isGroup = false): Address => ({ channel: 'test', account: 'bot', chatId, isGroup });

/** A journal on disk, with Ben and Cleo, who have written in private chats of theirs. */
async function setup({ remindAfterMs = DAY_MS, hasOwner = true } = {}) {
  const dir = await tempDir();
  const clock = new FakeClock();
  const { journal } = await openJournal({ dir: dir.path, clock });
  for (const [n, who] of ['ben', 'cleo'].entries())
    await journal.accept([admit(message(n + 1, { chatId: who, senderId: who, senderName: who }))]);
  await journal.accept([admit(message(9, { channel: 'mail', chatId: 'ben', senderId: 'ben' }))]);
  const cap = new DailyCap(journal, clock);
  const shared = { journal, clock, cap, onParts: () => undefined };
  const told: string[] = [];
  const asking = (override: Partial<RunRow> = {}, home: Address | undefined = chat('ben')) => {
    const row = {
      ...runOf(message(3, { chatId: 'ben', senderId: 'ben', senderName: 'Ben' })),
      authority: BEN,
      ...override,
    } as RunRow;
    const messages = new RunMessages(row, home, {
      ...{
        ...shared,
        channel: () => new TestChannel('test'),
        mayWrite: async () => true,
        isGuest: async () => false,
        isReserved: () => false,
      },
      rules: (name) => (['test', 'mail'].includes(name) ? { isLocal: false, allowedGroups: ['*'] } : undefined),
      expiresInMs: () => 60_000,
      ...{ channelNames: () => ['test', 'mail'], linked: (id) => [id], linkedAs: () => [], onLine: () => undefined },
    });
    return new RunAsking(row, home, messages, {
      ...shared,
      isChannel: (name) => ['test', 'mail'].includes(name),
      provesSender: (name) => name !== 'mail',
      remindAfterMs: () => remindAfterMs,
      owner: {
        exists: hasOwner,
        prepare(id, text) {
          told.push(text);
          const part = {
            part: outbound({ key: `#owner/${id}#0`, text }),
            lane: 'test/bot/owner',
            expiresAt: clock.now() + DAY_MS,
          };
          return { chat: 'test/bot/owner', parts: [part], onDisk: () => undefined };
        },
      },
    });
  };
  return {
    ...{ journal, clock, asking, told },
    async [Symbol.asyncDispose]() {
      await journal[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

const wondering = (override: Partial<Wondering> = {}): Wondering => ({
  ...{ to: 'requester', text: 'Which?', answer: 'text', choices: [] },
  ...override,
});

/** The question, or why it is not asked. */
async function asked(asking: RunAsking, override: Partial<Wondering> = {}) {
  const question = await asking.question(wondering(override));
  if (question.kind === 'refused') return question.reason;
  return question.wait.kind === 'person' ? question.wait.about : expect.fail('no person is asked');
}

/** A run that no message began. */
const prompted = (override: Partial<RunRow> = {}): Partial<RunRow> => ({
  ...{ source: { kind: 'job', job: 'ab12cd34', due: 1 }, prompt: { text: 'go', media: [], at: '' } },
  ...({ message: undefined, ...override } as object),
});

test.each<[string, Partial<RunRow>, Address | undefined, object]>([
  ['of a message in private', {}, chat('ben'), { to: chat('ben'), by: ['test:ben'], who: 'Ben (test, ben)' }],
  ['of a message in a group', {}, chat('room', true), { to: chat('room', true), by: ['test:ben'] }],
  ['of a job in its own chat', prompted(), chat('ben'), { to: { chatId: 'ben' }, by: ['test:ben'] }],
  ['of a job that answers in a group', prompted(), chat('room', true), { to: { chatId: 'room' } }],
  ['of a job that answers in the chat of another person', prompted(), chat('cleo'), { to: { chatId: 'ben' } }],
  ['of a run that no chat is told of', prompted(), undefined, { to: { chatId: 'ben' }, by: ['test:ben'] }],
  [
    'of the operator without a chat',
    prompted({ authority: { ...BEN, role: 'owner', principal: LOCAL_OPERATOR } }),
    chat('cleo'),
    { to: 'owner' },
  ],
])('the person %s is asked where they can answer', async (_what, row, home, about) => {
  await using at = await setup();
  expect(await asked(at.asking(row, home))).toMatchObject(about);
});

test.each<[Partial<Wondering>, Partial<RunRow>, string]>([
  [{}, prompted({ authority: { ...BEN, principal: 'mcp:coder' } }), 'there is no chat in which the person could be asked'],
  [{ to: 'mail:ben', answer: 'approve' }, {}, 'a yes that comes by mail or SMS counts for nothing'],
  [{ to: 'nobody' }, {}, 'no person has written to the agent'],
  [{ to: 'owner' }, {}, 'there is no chat of the owner'],
])('%j is refused', async (override, row, reason) => {
  await using at = await setup({ hasOwner: false });
  expect(await asked(at.asking(row, undefined), override)).toContain(reason);
});

test('the words of another person, and of nobody else, leave the chat, say for whom, and bring what is private', async () => {
  await using at = await setup();
  const asking = at.asking();
  expect(await asked(asking, { to: 'test:cleo' })).toMatchObject({
    ...{ to: { chatId: 'cleo' }, by: ['test:cleo'] },
    onBehalf: { head: 'On behalf of Ben (test:ben):', sentFor: { readers: ['test:cleo'] }, taint: 2 },
  });
  expect(await asked(asking, { to: 'mail:ben' })).toMatchObject({ to: { channel: 'mail' }, by: ['mail:ben'] });
  expect(['requester', 'owner', 'ben', 'test:ben', 'cleo', 'mail:ben'].map((to) => asking.isHome(to))).toEqual([
    ...[true, true, true, true],
    ...[false, false],
  ]);
});

test('the owner is asked on whose behalf, and their own requests without that line', async () => {
  await using at = await setup();
  expect(await asked(at.asking(), { to: 'owner' })).toMatchObject({
    to: 'owner',
    by: [],
    onBehalf: { head: 'On behalf of Ben (test:ben):' },
  });
  const own = await asked(at.asking({ authority: { ...BEN, role: 'owner' } }), { to: 'owner' });
  expect(own).toMatchObject({ to: 'owner', by: [], who: 'the owner' });
  expect(own).not.toHaveProperty('onBehalf');
});

test('nobody is asked more than twenty times a day on the wish of others, messages counted', async () => {
  await using at = await setup();
  const asking = at.asking();
  for (let n = 0; n < 20; n += 1) await asking.tell('cleo', 'news', `${n}`, signal);
  expect(await asked(asking, { to: 'cleo' })).toMatch(/has had 20 messages within 24 hours/);
});

test('a reminder has a date where there is time for one', async () => {
  await using at = await setup();
  const now = at.clock.now();
  expect(await asked(at.asking())).toMatchObject({ remindAt: now + DAY_MS, expiresAt: now + 7 * DAY_MS });
  expect(await asked(at.asking(), { expiresInMs: DAY_MS })).not.toHaveProperty('remindAt');
  await using never = await setup({ remindAfterMs: 0 });
  expect(await asked(never.asking())).not.toHaveProperty('remindAt');
});

test('hostile: what is not seen in an approval is spelt out', async () => {
  await using at = await setup();
  expect(await asked(at.asking(), { answer: 'approve', text: 'Pay\u202e 5?' })).toMatchObject({
    text: expect.stringContaining('\\u202e'),
    digest: expect.stringMatching(/^[\da-f]{64}$/),
  });
});

test('who is only told is told once, however often the call is made', async () => {
  await using at = await setup();
  for (let n = 0; n < 2; n += 1) {
    expect(await at.asking().tell('requester', 'for you', 'k1', signal)).toEqual({ kind: 'written', title: 'this chat' });
    expect(await at.asking().tell('owner', 'for the owner', 'k2', signal)).toEqual({ kind: 'written', title: 'the owner' });
  }
  const texts = async (lane: string) => (await at.journal.pending(lane, 9)).map(({ part }) => part.text);
  expect([await texts('test/bot/ben'), (await texts('test/bot/owner')).length]).toEqual([['for you'], 1]);
  expect(at.told[0]).toBe('On behalf of Ben (test:ben):\n\nfor the owner');
});

test.each(['subagent', 'node'] as const)('a run of profile %s asks no one', async (profile) => {
  await using at = await setup();
  expect(at.asking(prompted({ profile })).refusal).toBe('ask_human is not available to subagents');
});
