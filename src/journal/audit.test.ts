import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Question, Settled } from '../core/wait.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { LANE, message, SESSION } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const YES = { ok: true, output: 'allow' };
const NO = { ok: true, output: 'deny' };

async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const open = () => openJournal({ dir: dir.path, clock });
  const opened = await open();
  const ask = (id: string, answer: Question['answer'] = 'approve') => {
    const question: Question = { text: 'secret words', answer, to: 'owner', by: [], digest: `digest of ${id}`, expiresAt: 9e15 };
    return opened.journal.commit([{ kind: 'ask', id, question, asked: { code: id.toUpperCase(), parts: [] }, late: NO }]);
  };
  return {
    ...{ dir: dir.path, open, ask, clock, ...opened },
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('each entry carries the hash of the one before, over JSON with its keys in order', async () => {
  await using at = await setup();
  const { journal, people, clock } = at;
  const entry = { kind: 'config.applied', subject: 'config', by: 'file', data: { z: 1, keys: ['b', 'a'] } };
  await journal.commit([{ kind: 'audit', entry }]);
  await journal.commit([
    { kind: 'audit', entry: { ...entry, data: {} } },
    { kind: 'audit', entry },
  ]);
  const [first, second, third] = await people.audit({});
  const text = (seq: number, data: string, prev: string) =>
    `{"at":${clock.now()},"by":"file","data":${JSON.stringify(data)},"kind":"config.applied","prev":"${prev}","seq":${seq},"subject":"config"}`;
  expect(first?.hash).toBe(hash('sha256', text(1, '{"keys":["b","a"],"z":1}', '')));
  expect(second?.hash).toBe(hash('sha256', text(2, '{}', first?.hash ?? '')));
  expect(await people.verifyAudit()).toEqual({ kind: 'whole', entries: 3, head: third?.hash });
});

test('what a person answered to an approval is in the record, of every way to answer, and no other end is', async () => {
  await using at = await setup();
  const { journal, people, ask } = at;
  for (const id of ['by-chat', 'by-cli', 'by-time', 'again']) await ask(id);
  await ask('words', 'text');
  const answer = (n: number, settled: Settled) =>
    ({
      ...({ kind: 'answer' } as const),
      ...{ message: message(n), lane: LANE, session: SESSION, outcome: 'allow', parts: [] },
      settles: { settled, over: () => [] },
    }) as const;
  await journal.accept([answer(1, { wait: 'by-chat', value: YES, by: 'test:boss' })]);
  // Answered already: no second decision.
  await journal.accept([answer(2, { wait: 'by-chat', value: NO, by: 'test:boss' })]);
  await journal.accept([answer(3, { wait: 'words', value: { ok: true, output: 'secret words' }, by: 'test:boss' })]);
  await journal.commit([{ kind: 'settle', settled: { wait: 'by-cli', value: NO, by: 'cli' } }]);
  await journal.commit([{ kind: 'settle', settled: { wait: 'by-time', value: NO, by: 'due' } }]);
  const entries = await people.audit({});
  expect(entries.map(({ kind, subject, by, data }) => [kind, subject, by, data])).toEqual([
    ['question.allowed', 'by-chat', 'test:boss', { digest: 'digest of by-chat' }],
    ['question.denied', 'by-cli', 'cli', { digest: 'digest of by-cli' }],
  ]);
  expect(JSON.stringify(entries)).not.toContain('secret');
});

test('entries of two processes make one chain', async () => {
  await using at = await setup();
  await using other = await at.open();
  const entry = { kind: 'job.added', subject: 'x', by: 'cli' };
  for (const { journal } of [at, other, at, other]) await journal.commit([{ kind: 'audit', entry }]);
  expect(await other.people.verifyAudit()).toMatchObject({ kind: 'whole', entries: 4 });
});
