// What the record of events adds to a message: time and room of its whole journal, with it and without it,
// in turns.
import { join } from 'node:path';
import type { EventBase, RunEvent } from '../src/core/events.ts';
import { messageKey, partKey } from '../src/core/ids.ts';
import type { Journal } from '../src/core/journal.ts';
import type { InboundMessage } from '../src/core/message.ts';
import { Database } from '../src/journal/database.ts';
import { openJournal } from '../src/journal/open.ts';
import { RecordWriter } from '../src/journal/record-writer.ts';
import { systemClock } from '../src/lib/clock.ts';
import type { Figure } from './figure.ts';
import { median } from './statistics.ts';
import { makeWorkDir, type WorkDir } from './subjects.ts';

const MESSAGES = 10_000;
const CHUNK = 100;
const AT_ONCE = 10;
const CHATS = 100;
/** Of 10,000 messages each, in the file that commands read. */
const DAYS = 30;
const DAY_MS = 86_400_000;
const BENCH = 'record';

type Side = 'with' | 'without';

export async function measureRecord(): Promise<Figure[]> {
  await using work = await makeWorkDir();
  return await measureCost(work);
}

async function measureCost(work: WorkDir): Promise<Figure[]> {
  const chunks: Record<Side, number[]> = { with: [], without: [] };
  {
    await using kept = await openJournal({ dir: await work.make('with'), clock: systemClock });
    await using bare = await openJournal({ dir: await work.make('without'), clock: systemClock });
    for (let from = 0; from < MESSAGES; from += CHUNK) {
      chunks.with.push(await timed(() => play(kept.journal, from)));
      using _silent = withoutRecord();
      chunks.without.push(await timed(() => play(bare.journal, from)));
    }
  }
  const [kept, bare] = [sizeOf(join(work.path, 'with')), sizeOf(join(work.path, 'without'))];
  const time = { bench: BENCH, unit: 'ms' };
  const least = (values: readonly number[]): number => Math.min(...values);
  const compare = (name: string, of: (values: readonly number[]) => number): Figure => ({
    ...{ ...time, name, value: of(chunks.with) - of(chunks.without) },
    note: `${of(chunks.with).toFixed(3)} − ${of(chunks.without).toFixed(3)} ms of the event loop, ${MESSAGES} messages with a tool call`,
  });
  return [
    { ...compare('time a message', median), limit: { atMost: 0.15 } },
    compare('time a message, least', least),
    {
      ...{ bench: BENCH, name: 'room a message', value: (kept - bare) / MESSAGES / 1_000, unit: 'kB', limit: { atMost: 2 } },
      note: `${(kept / 1e6).toFixed(1)} − ${(bare / 1e6).toFixed(1)} MB`,
    },
  ];
}

/** ms of each message, of the thread that everything waits for. */
async function timed(work: () => Promise<void>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000 / CHUNK;
}

/** A journal in `dir` with the record of a month, and a hundred messages whole. */
export async function writeMonth(dir: string): Promise<void> {
  {
    await using opened = await openJournal({ dir, clock: systemClock });
    await play(opened.journal, 0);
  }
  fillMonth(dir);
  await using opened = await openJournal({ dir, clock: systemClock, checks: false });
  await play(opened.journal, CHUNK);
}

/** What the month is, for the note of a figure. */
export const aboutMonth = (dir: string): string => `${(sizeOf(dir) / 1e6).toFixed(0)} MB, ${DAYS} days of ${MESSAGES} messages`;

/** Copies the events of the messages that are there, until there are a month's. */
function fillMonth(dir: string): void {
  using db = new Database(join(dir, 'journal.db'), { busyMs: 1_000 });
  db.exec(`BEGIN;
    WITH RECURSIVE copy (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < ${(DAYS * MESSAGES) / CHUNK})
    INSERT INTO event (at, run, session, channel, type, data)
      SELECT at - n * ${(DAYS * DAY_MS) / ((DAYS * MESSAGES) / CHUNK)}, run || '.' || n, session, channel, type, data FROM copy, event WHERE event.seq <= (SELECT max(seq) FROM event);
    COMMIT`);
}

/** Nothing is recorded until it is disposed. */
function withoutRecord(): Disposable {
  const { write, refuse, note } = RecordWriter.prototype;
  Object.assign(RecordWriter.prototype, { write: () => undefined, refuse: () => undefined, note: () => false });
  return { [Symbol.dispose]: () => Object.assign(RecordWriter.prototype, { write, refuse, note }) };
}

function sizeOf(dir: string): number {
  using db = new Database(join(dir, 'journal.db'), { readOnly: true, busyMs: 1_000 });
  const pragma = (name: string): number => Number(Object.values(db.get<Record<string, number>>(`PRAGMA ${name}`) ?? {})[0]);
  return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
}

/** So many at once as the daemon runs turns. */
async function play(journal: Journal, from: number): Promise<void> {
  for (let n = from; n < from + CHUNK; n += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, more) => playOne(journal, n + more)));
}

/** A question that a tool helps to answer: what gateway, runner and delivery write and tell of it. */
async function playOne(journal: Journal, n: number): Promise<void> {
  const message = messageOf(n);
  const [lane, session] = [`telegram/7700000000/${message.chatId}`, `_main:telegram:${message.chatId}`];
  const [accepted] = await journal.accept([{ kind: 'admit', message, lane, session }]);
  if (accepted?.kind !== 'new') throw new Error('the message is not new');
  const about: EventBase = { at: Date.now(), messageId: accepted.row.key, session, channel: 'telegram' };
  const tell = (event: Told): void => journal.record.note({ ...about, ...event, at: Date.now() } as RunEvent);
  tell({ type: 'queued', lane, depth: 1 });
  const row = await journal.claim(accepted.row.seq);
  if (!row) throw new Error('the row cannot be claimed');
  const { seq, generation, key } = row;
  tell({ type: 'started', attempt: 1, waitedMs: 3 });
  await callModel(tell, 1);
  const answer = { role: 'assistant', content: 'I look into the file.', toolCalls: [{ id: 'c1', name: 'read_file' }] };
  await journal.step(seq, generation, { n: 1, kind: 'model', state: 'DONE', value: answer });
  const step = { n: 1, kind: 'tool', callId: 'c1', argsHash: '0123456789abcdef' } as const;
  await journal.step(seq, generation, { ...step, state: 'STARTED' });
  tell({ type: 'tool.started', tool: 'read_file', callId: 'c1' });
  tell({ type: 'tool.done', tool: 'read_file', callId: 'c1', ok: true, ms: 1.234567 });
  await journal.step(seq, generation, { ...step, state: 'DONE', value: { output: 'the file says 42', isError: false } });
  await callModel(tell, 2);
  const partOf = { key: partKey(key, 0), messageId: key, channel: 'telegram', account: '7700000000', chatId: message.chatId };
  const part = { ...partOf, ordinal: 0, count: 1, text: 'It says 42.' };
  const line = (role: 'user' | 'assistant', content: string) => ({
    id: `${key}#${role}`,
    role,
    content,
    timestamp: new Date().toISOString(),
  });
  const lines = [line('user', message.text), line('assistant', 'It says 42.')];
  const parts = [{ part, lane, expiresAt: Date.now() + 86_400_000 }];
  await journal.finish({ seq, generation, state: 'DONE', outcome: 'answered', lines, parts, ms: 5.4321 });
  const [pending] = await journal.pending(lane, 1);
  if (!pending) throw new Error('no part waits');
  await journal.sending(pending.seq);
  await journal.settle(pending.seq, { kind: 'sent', platformId: `${n}` });
}

type Told = { readonly type: RunEvent['type'] } & Readonly<Record<string, unknown>>;

async function callModel(tell: (event: Told) => void, iteration: number): Promise<void> {
  tell({ type: 'model.started', model: 'openai/gpt-7-mini', iteration });
  tell({ type: 'model.done', model: 'openai/gpt-7-mini', tokensIn: 1_234, tokensOut: 56, costUsd: 0.001_234, ms: 812.345678 });
}

function messageOf(n: number): InboundMessage {
  const chatId = String(100_000_000 + (n % CHATS));
  const senderId = chatId;
  const place = { channel: 'telegram', account: '7700000000', chatId, platformId: `${chatId}:${n}` };
  return {
    ...place,
    id: messageKey(place),
    ...{ kind: 'message', senderId, senderName: 'Ada', isGroup: false, mentionsBot: true },
    ...{ text: 'What does the file say?', media: [], timestamp: Date.now() },
  } as unknown as InboundMessage;
}
