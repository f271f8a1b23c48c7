import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { PairingRequest } from '../core/pairing.ts';
import { letInParts } from '../operator/pairing-text.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { part } from '../testing/journal-rows.ts';
import { createPrivateFile, Database } from './database.ts';
import { type OpenedJournal, openJournal } from './open.ts';
import { MIGRATIONS, migrate } from './schema.ts';

const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 1);

async function fresh(): Promise<{ opened: OpenedJournal; dir: string; again(): Promise<OpenedJournal> } & AsyncDisposable> {
  const dir = await tempDir();
  const clock = new FakeClock(START);
  const all: OpenedJournal[] = [];
  const again = async () => {
    const next = await openJournal({ dir: dir.path, clock });
    all.push(next);
    return next;
  };
  return {
    opened: await again(),
    dir: dir.path,
    again,
    async [Symbol.asyncDispose]() {
      for (const one of all) await one[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

function who(senderId: string, account = 'bot') {
  return { channel: 'test', account, senderId, senderName: `Name of ${senderId}`, chatId: `chat of ${senderId}` };
}

it('A2 a code has 8 characters that look like no others, and only its hash is on disk', async () => {
  await using f = await fresh();
  const { pairing } = f.opened;
  const { state, code = '' } = await pairing.request(who('u1'), START);
  expect(state).toBe('pending');
  expect(code).toMatch(/^[ACDEFGHJKMNPQRTWXY34679]{8}$/);
  for (const file of ['journal.db', 'journal.db-wal']) {
    expect((await readFile(join(f.dir, file))).includes(code)).toBe(false);
  }
  expect(await pairing.list(START)).toEqual([
    { ...who('u1'), state: 'pending', createdAt: START, expiresAt: START + 60 * MINUTE },
  ]);
});

it('an approved or denied sender stays so, in another process too', async () => {
  await using f = await fresh();
  const { pairing } = f.opened;
  const first = await pairing.request(who('u1'), START);
  const second = await pairing.request(who('u2'), START);
  const cli = (await f.again()).pairing;
  // As a person types it.
  const typed = `${first.code?.slice(0, 4).toLowerCase()}-${first.code?.slice(4)} `;
  expect(await cli.approve(typed, START)).toMatchObject({ ...who('u1'), state: 'approved' });
  expect(await cli.deny(second.code ?? '', START)).toMatchObject({ ...who('u2'), state: 'denied' });
  expect(await cli.approve(first.code ?? '', START)).toBeUndefined(); // a code works once
  const later = START + 1_000 * MINUTE;
  expect(await pairing.request(who('u1'), later)).toEqual({ state: 'approved' });
  expect(await pairing.request(who('u2'), later)).toEqual({ state: 'denied' });
  expect(await pairing.list(later)).toHaveLength(2);
});

it('A2 the same sender is told the code at most once in 10 minutes, and it is the same code', async () => {
  await using f = await fresh();
  const { pairing } = f.opened;
  const [first, ...rest] = await Promise.all([0, 1, 2].map((s) => pairing.request(who('u1'), START + s * 1_000)));
  expect(first?.code).toBeDefined();
  expect(rest).toEqual([{ state: 'pending' }, { state: 'pending' }]);
  expect(await pairing.request(who('u1'), START + 10 * MINUTE - 1)).toEqual({ state: 'pending' });
  expect(await pairing.request(who('u1'), START + 10 * MINUTE)).toEqual(first);
  expect((await pairing.list(START))[0]?.expiresAt).toBe(START + 60 * MINUTE); // repeating does not prolong it
});

it('after a restart the sender is told a new code and the old one is worth nothing', async () => {
  await using f = await fresh();
  const old = await f.opened.pairing.request(who('u1'), START);
  const { pairing } = await f.again();
  const repeated = await pairing.request(who('u1'), START + 10 * MINUTE);
  expect(repeated.code).not.toBe(old.code);
  expect(await pairing.approve(old.code ?? '', START + 10 * MINUTE)).toBeUndefined();
  expect(await pairing.approve(repeated.code ?? '', START + 10 * MINUTE)).toMatchObject({ state: 'approved' });
});

it('A2 S6 after 5,000 strangers in a minute, of whom ten got a code, an expected person gets one that works', async () => {
  await using f = await fresh();
  const { pairing } = f.opened;
  const codes: string[] = [];
  for (let n = 0; n < 5_000; n += 1) {
    const { state, code } = await pairing.request(who(`stranger-${n}`), START + n * 10);
    if (code === undefined) expect(state).toBe('full');
    else codes.push(code);
  }
  expect(codes).toHaveLength(10);
  expect((await pairing.request(who('other'), START)).state).toBe('full');
  expect((await pairing.request(who('other', 'bot2'), START)).code).toBeDefined();
  const { code = '' } = await pairing.request(who('expected'), START + MINUTE);
  // More strangers all the time take no request away.
  for (let n = 2; n < 60; n += 1) {
    const more = Array.from({ length: 12 }, (_, m) => pairing.request(who(`later-${n}-${m}`), START + n * MINUTE));
    await Promise.all(more);
  }
  expect(await pairing.approve(code, START + 60 * MINUTE)).toMatchObject({ senderId: 'expected', state: 'approved' });
});

it('S6 while strangers ask without end, who writes the word of the owner gets a code that works', async () => {
  await using f = await fresh();
  const { pairing } = f.opened;
  const { word } = await (await f.again()).pairing.expect(START);
  expect(word).toMatch(/^PAIR-[ACDEFGHJKMNPQRTWXY34679]{8}$/);
  for (const file of ['journal.db', 'journal.db-wal'])
    expect((await readFile(join(f.dir, file))).includes(word.slice(5))).toBe(false);
  const full: string[] = [];
  // For a minute and a half; each of them guesses.
  for (let n = 0; n < 3_000; n += 1) {
    const { state } = await pairing.request(
      { ...who(`stranger-${n}`), text: `PAIR-${n.toString(36).padStart(8, 'A')}` },
      START + n * 30,
    );
    if (state === 'full') full.push(state);
  }
  expect(full).toHaveLength(3_000 - 2 * 10);
  const now = START + 90_000;
  expect((await pairing.request({ ...who('expected'), text: 'hello?' }, now)).state).toBe('full');
  const asked = { ...who('expected'), text: `Hello, it is me: ${word.toLowerCase()}.` };
  const { code = '' } = await pairing.request(asked, now);
  expect(await pairing.approve(code, now)).toMatchObject({ senderId: 'expected', state: 'approved' });
  // A word that became known is worth ten codes a minute, and a new one ends it.
  const leaked = (n: number) => pairing.request({ ...who(`leaked-${n}`), text: word }, now);
  const states = await Promise.all(Array.from({ length: 20 }, (_, n) => leaked(n)));
  expect(states.filter(({ state }) => state === 'pending')).toHaveLength(9);
  const next = await pairing.expect(now);
  const minute = now + MINUTE;
  for (let n = 0; n < 10; n += 1) await pairing.request(who(`more-${n}`), minute);
  expect((await pairing.request({ ...who('late'), text: word }, minute)).state).toBe('full');
  expect((await pairing.request({ ...who('late'), text: next.word }, minute)).code).toBeDefined();
  const over = next.expiresAt;
  expect([await pairing.expectsUntil(over - 1), await pairing.expectsUntil(over)]).toEqual([over, undefined]);
  for (let n = 0; n < 10; n += 1) await pairing.request(who(`after-${n}`), over);
  expect((await pairing.request({ ...who('too late'), text: next.word }, over)).state).toBe('full');
});

it('S6 a stranger beyond the rate, or one who was told a code a moment ago, costs no commit', async () => {
  await using f = await fresh();
  const { pairing } = f.opened;
  for (let n = 0; n < 10; n += 1) await pairing.request(who(`u${n}`), START);
  const before = await readFile(join(f.dir, 'journal.db-wal'));
  for (let n = 0; n < 20; n += 1) await pairing.request(who(`u${n}`), START + n);
  expect((await readFile(join(f.dir, 'journal.db-wal'))).equals(before)).toBe(true);
});

it('S6 the owner lets in by id who asked, and who was turned away, in the account they wrote to', async () => {
  await using f = await fresh();
  const { pairing, journal, people } = f.opened;
  const person = { channel: 'test', senderId: 'u1' };
  expect(await pairing.approve(person, START)).toBeUndefined();
  await pairing.request(who('u1'), START);
  expect(await pairing.deny(person, START)).toMatchObject({ state: 'denied' });
  const tell = () => [part('welcome')];
  // Long after the hour of the code.
  expect(await pairing.approve(person, START + 500 * MINUTE, { tell })).toMatchObject({ ...who('u1'), state: 'approved' });
  expect((await pairing.request(who('u1'), START)).state).toBe('approved');
  expect((await journal.part('welcome'))?.state).toBe('PENDING');
  expect(await pairing.approve(person, START)).toBeUndefined();
  expect((await people.audit({})).map(({ kind, subject, by, data }) => ({ kind, subject, by, data }))).toEqual([
    { kind: 'pair.denied', subject: 'test:u1', by: 'cli', data: { account: 'bot' } },
    { kind: 'pair.approved', subject: 'test:u1', by: 'cli', data: { account: 'bot' } },
  ]);
});

it('A2 a code is refused once its hour is over', async () => {
  await using f = await fresh();
  const { pairing } = f.opened;
  const { code = '' } = await pairing.request(who('u1'), START);
  expect(await pairing.approve(code, START + 60 * MINUTE)).toBeUndefined();
  expect(await pairing.list(START + 60 * MINUTE)).toEqual([]);
});

it('A2 after 10 wrong codes in an hour even the right one is refused, in every process, until the hour is over', async () => {
  await using f = await fresh();
  const { code = '' } = await f.opened.pairing.request(who('u1'), START);
  for (let n = 0; n < 10; n += 1) expect(await f.opened.pairing.approve(`WRONG${n}`, START + n)).toBeUndefined();
  const other = (await f.again()).pairing;
  expect(await other.approve(code, START + 10)).toBeUndefined();
  expect(await other.deny(code, START + 10)).toBeUndefined();
  expect(await other.approve(code, START + 59 * MINUTE)).toBeUndefined();
  const { code: next = '' } = await other.request(who('u1'), START + 61 * MINUTE);
  expect(await other.approve(next, START + 61 * MINUTE)).toMatchObject({ state: 'approved' });
});

it('A2 10,000 guesses, the right code among them, never succeed', async () => {
  await using f = await fresh();
  const { pairing } = f.opened;
  const { code = '' } = await pairing.request(who('u1'), START);
  const guesses = Array.from({ length: 10_000 }, (_, n) => (n === 9_999 || n === 10 ? code : `GUESS${n}`));
  const results = await Promise.all(guesses.map((guess, n) => pairing.approve(guess, START + n)));
  expect(results.filter((result) => result !== undefined)).toEqual([]);
});

it('A37 two senders whose ids differ only in what UTF-8 cannot hold are two senders', async () => {
  await using f = await fresh();
  const { pairing } = f.opened;
  const { code = '' } = await pairing.request(who('u\ud800'), START);
  await pairing.approve(code, START);
  expect((await pairing.request(who('u\ud800'), START)).state).toBe('approved');
  expect((await pairing.request(who('u\ud801'), START)).state).toBe('pending');
});

it('a request of before version 6 is let in; nobody is told, because the chat is not known', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'journal.db');
  await createPrivateFile(path);
  {
    using db = new Database(path, { busyMs: 0 });
    migrate(db, MIGRATIONS.slice(0, 5));
    db.run(
      `INSERT INTO pairing (key, channel, account, sender_id, sender_name, state, created_at, expires_at, told_at)
       VALUES ('test/bot/u1', 'test', 'bot', 'u1', 'U', 'pending', ?, ?, ?)`,
      ...[START, START + 60 * MINUTE, START],
    );
  }
  await using opened = await openJournal({ dir: dir.path, clock: new FakeClock(START) });
  const seen: unknown[] = [];
  const tell = (request: PairingRequest) => {
    seen.push(request.chatId);
    return letInParts(request, START);
  };
  expect(await opened.pairing.approve({ channel: 'test', senderId: 'u1' }, START, { tell })).toMatchObject({ state: 'approved' });
  expect(seen).toEqual([undefined]);
  expect((await opened.journal.counts()).outbox.PENDING).toBe(0);
});
