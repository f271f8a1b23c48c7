import { expect, test } from 'vitest';
import type { SessionGrant, Settled } from '../core/wait.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { openJournal } from './open.ts';

const HOUR = 3_600_000;
const GRANT: SessionGrant = {
  principal: 'test:ann',
  session: '_main:test:c',
  tool: 'shell',
  rule: 'git status in .',
  digest: 'd1',
};

async function scene(dir: string) {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const opened = await openJournal({ dir, clock });
  const { journal } = opened;
  const about = { text: 'May I?', answer: 'approve', to: 'owner', by: [], grant: GRANT } as const;
  let asked = 0;
  /** Asks, and answers it. */
  const answer = async (output: string, more: Partial<Settled> = { forSession: true }) => {
    asked += 1;
    const id = `q${asked}`;
    const question = { ...about, expiresAt: clock.now() + HOUR };
    await journal.commit([
      { kind: 'ask', id, question, asked: { code: `AAAAA${asked}`, parts: [] }, late: { ok: false, output: '' } },
    ]);
    await journal.commit([{ kind: 'settle', settled: { wait: id, value: { ok: true, output }, by: 'cli', ...more } }]);
    return id;
  };
  const granted = (more: Partial<SessionGrant> = {}) => journal.waits.granted({ ...GRANT, ...more });
  return { ...opened, clock, answer, granted, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

test('a yes for the session holds for its person, session, tool and rule, and for no other', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path);
  expect(await at.granted()).toBeUndefined();
  const question = await at.answer('allow');
  expect(await at.granted()).toMatch(new RegExp(`/d1/${question}$`));
  for (const other of [
    { principal: 'test:eve' },
    { session: '_main:test:c2' },
    { tool: 'git' },
    { digest: 'd' },
    { digest: 'd2' },
  ])
    expect(await at.granted(other)).toBeUndefined();
  const entries = await at.people.audit({});
  expect(entries.at(-1)).toMatchObject({ kind: 'question.allowed', data: { rule: 'git status in .' } });
});

test.each([
  ['a no', 'deny', { forSession: true }],
  ['a yes for once', 'allow', {}],
] as const)('%s grants nothing more', async (_what, output, more) => {
  await using dir = await tempDir();
  await using at = await scene(dir.path);
  await at.answer(output, more);
  expect(await at.granted()).toBeUndefined();
});

test('it ends after a day, and with its session, and with the person who has or gave it', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path);
  await at.answer('allow');
  await at.clock.advance(24 * HOUR - 1);
  expect(await at.granted()).toBeDefined();
  await at.clock.advance(1);
  expect(await at.granted()).toBeUndefined();
  await at.answer('allow');
  await at.journal.commit([{ kind: 'end-grants', session: 'another' }]);
  expect(await at.granted()).toBeDefined();
  await at.journal.commit([{ kind: 'end-grants', session: GRANT.session }]);
  expect(await at.granted()).toBeUndefined();
  await at.answer('allow');
  const who = { channel: 'test', senderId: 'ann' };
  await at.journal.commit([{ kind: 'shut-out', who, as: 'blocked', by: 'cli' }]);
  expect(await at.granted()).toBeUndefined();
});

test('a second answer to the question grants nothing', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path);
  const wait = await at.answer('allow', {});
  const settled = { wait, value: { ok: true, output: 'allow' }, by: 'cli', forSession: true } as const;
  await at.journal.commit([{ kind: 'settle', settled }]);
  expect(await at.granted()).toBeUndefined();
});
