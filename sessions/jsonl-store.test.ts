import { appendFile, chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SessionDamage } from '../src/core/session.ts';
import { FakeClock, tempDir, until } from '../src/testing/fakes.ts';
import { message, messages, sessionStoreContract, toolTurn } from './contract.ts';
import { legacyPath, sessionStem } from './file-name.ts';
import { type JsonlStoreOptions, openJsonlStore } from './jsonl-store.ts';

sessionStoreContract('jsonl', async () => {
  const dir = await tempDir();
  const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: () => undefined });
  return { store, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
});

const KEY = '_main:telegram:42';

async function setUp(over: Partial<JsonlStoreOptions> = {}) {
  const dir = await tempDir();
  const damages: SessionDamage[] = [];
  const open = () =>
    openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: (damage) => damages.push(damage), ...over });
  const stem = sessionStem(dir.path, KEY);
  return {
    dir: dir.path,
    open,
    store: open(),
    damages,
    path: `${stem}.jsonl`,
    archive: `${stem}.archive.jsonl`,
    quarantine: `${stem}.quarantine.jsonl`,
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

async function jsonLines(path: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(path, 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('the file', () => {
  test('line 1 is the header, every other line one message; only the owner can read any of it', async () => {
    await using it = await setUp();
    await it.store.append(KEY, toolTurn(0));
    await it.store.rewrite(KEY, toolTurn(0));
    const [header, ...rest] = await jsonLines(it.path);
    const stamps = ['created_at', 'updated_at'];
    expect(Object.keys(header ?? {})).toEqual(['schema_version', 'session_key', 'check', ...stamps, 'summary']);
    expect(rest).toEqual(toolTurn(0));
    expect((await stat(it.path)).mode & 0o777).toBe(0o600);
    expect((await stat(it.archive)).mode & 0o777).toBe(0o600);
    for (const directory of [dirname(it.path), dirname(dirname(it.path)), join(it.dir, 'users')]) {
      expect((await stat(directory)).mode & 0o777).toBe(0o700);
    }
    expect(await readdir(dirname(it.path))).toEqual(['default.archive.jsonl', 'default.jsonl']);
  });

  test('an append after a restart skips what an earlier process wrote before it was killed', async () => {
    await using it = await setUp();
    await it.store.append(KEY, messages(3));
    await it.open().append(KEY, messages(5));
    expect((await it.open().load(KEY))?.messages).toEqual(messages(5));
  });

  test('a file that changed behind the store is read again before it is appended to', async () => {
    await using it = await setUp();
    await it.store.append(KEY, messages(2));
    await appendFile(it.path, `${JSON.stringify(message(2))}\n{"torn`);
    await it.store.append(KEY, messages(2, 2));
    expect((await it.store.load(KEY))?.messages).toEqual(messages(4));
    await rm(it.path);
    await it.store.append(KEY, [message(9)]);
    expect((await it.store.load(KEY))?.messages).toEqual([message(9)]);
  });

  test('F18 a file of a newer version is refused with GH1402 and left untouched', async () => {
    await using it = await setUp();
    await it.store.append(KEY, messages(2));
    const text = `{"schema_version":2,"session_key":"${KEY}","anything":[]}\n{"shape":"unknown"}\n`;
    await writeFile(it.path, text);
    await expect(it.store.load(KEY)).rejects.toMatchObject({ code: 'GH1402' });
    await expect(it.store.append(KEY, messages(3))).rejects.toMatchObject({ code: 'GH1402' });
    await expect(it.store.rewrite(KEY, [])).rejects.toMatchObject({ code: 'GH1402' });
    await it.store.append('_main:other:1', messages(1));
    await expect(it.store.fork('_main:other:1', KEY, 5)).rejects.toMatchObject({ code: 'GH1402' });
    expect(await readFile(it.path, 'utf8')).toBe(text);
  });

  test('a disk that refuses is GH1401, and the same append works when it is mended', async () => {
    if (process.getuid?.() === 0) {
      // root ignores modes: a file where a directory must be refuses for everybody
      await using it = await setUp();
      await writeFile(join(it.dir, 'users'), '');
      await expect(it.store.append(KEY, messages(1))).rejects.toMatchObject({ code: 'GH1401' });
      await rm(join(it.dir, 'users'));
      await it.store.append(KEY, messages(1));
      expect((await it.store.load(KEY))?.messages).toEqual(messages(1));
      return;
    }
    await using it = await setUp();
    await it.store.append(KEY, messages(1));
    await chmod(it.path, 0o400);
    await expect(it.store.append(KEY, messages(2))).rejects.toMatchObject({ code: 'GH1401' });
    await chmod(it.path, 0o600);
    await it.store.append(KEY, messages(2));
    expect((await it.store.load(KEY))?.messages).toEqual(messages(2));
  });

  test('messages of other programs, without ids and check, are read and keep the ids they are given', async () => {
    await using it = await setUp();
    await mkdir(dirname(it.path), { recursive: true });
    const at = '2026-01-01T00:00:00+02:00';
    const lines = [{ schema_version: 1, session_key: KEY, created_at: at, updated_at: at }];
    const bare = [0, 1].map((n) => ({ role: 'user', content: `old ${n}`, timestamp: at }));
    await writeFile(it.path, [...lines, ...bare].map((line) => `${JSON.stringify(line)}\n`).join(''));
    const loaded = await it.store.load(KEY);
    expect(loaded?.messages.map(({ id, content }) => [id, content])).toEqual([
      ['line-2', 'old 0'],
      ['line-3', 'old 1'],
    ]);
    expect(await it.open().load(KEY)).toEqual(loaded);
    expect(it.damages).toEqual([]);
  });
});

describe('A37 the header decides whose file it is', () => {
  test('a file copied from another chat is moved aside whole, reported, and never shown', async () => {
    await using it = await setUp();
    await it.store.append('_main:telegram:666', messages(3));
    await mkdir(dirname(it.path), { recursive: true });
    const foreign = await readFile(`${sessionStem(it.dir, '_main:telegram:666')}.jsonl`);
    await writeFile(it.path, foreign);
    expect(await it.store.load(KEY)).toBeUndefined();
    expect(it.damages).toEqual([{ key: KEY, lines: [1, 2, 3, 4], quarantine: it.quarantine }]);
    expect(await readFile(it.quarantine)).toEqual(foreign);
    await it.store.append(KEY, messages(1));
    expect((await it.store.load(KEY))?.messages).toEqual(messages(1));
    expect((await it.store.load('_main:telegram:666'))?.messages).toEqual(messages(3));
  });

  test('of two keys with one file name the first keeps its file and the second is refused', async () => {
    await using it = await setUp();
    // On a file system that ignores case these two are one path; here a header stands in for that.
    const [upper, lower] = ['_main:slack:C1', '_main:slack:c1'];
    await it.store.append(upper, messages(2));
    const place = `${sessionStem(it.dir, lower)}.jsonl`;
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, await readFile(`${sessionStem(it.dir, upper)}.jsonl`));
    await expect(it.store.load(lower)).rejects.toMatchObject({ code: 'GH1401' });
    await expect(it.store.append(lower, messages(1))).rejects.toMatchObject({ code: 'GH1401' });
    await it.store.remove(lower);
    expect(await readFile(place)).toEqual(await readFile(`${sessionStem(it.dir, upper)}.jsonl`));
  });
});

describe('F20 a session beyond its limit is rotated, never refused, never hidden', () => {
  test('appending past the limit archives the whole file and keeps the newest messages', async () => {
    await using it = await setUp({ maxBytes: 4000, keepOnRotate: 5 });
    for (let n = 0; n < 100; n += 1) await it.store.append(KEY, [message(n)]);
    const kept = (await it.store.load(KEY))?.messages ?? [];
    expect(kept.at(-1)).toEqual(message(99));
    expect(kept.length).toBeGreaterThanOrEqual(5);
    expect((await stat(it.path)).size).toBeLessThanOrEqual(4000);
    const archived = (await jsonLines(it.archive)).map((line) => line['id']);
    const everywhere = new Set([...archived, ...kept.map(({ id }) => id)]);
    for (const { id } of messages(100)) expect(everywhere).toContain(id);
  });

  test('an 11 MB file is readable at once: 200 newest messages, the rest in the archive', async () => {
    await using it = await setUp();
    await it.store.append(KEY, messages(1));
    const big = Array.from({ length: 1100 }, (_, n) => message(n + 1, { content: 'x'.repeat(10_000) }));
    await appendFile(it.path, big.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const before = await readFile(it.path);
    expect(before.length).toBeGreaterThan(11_000_000);
    const kept = (await it.open().load(KEY))?.messages;
    expect(kept).toEqual(big.slice(-200));
    expect((await readFile(it.archive)).equals(before)).toBe(true);
    await it.store.append(KEY, [message(5000)]);
    expect((await it.store.load(KEY))?.messages).toHaveLength(201);
    expect(it.damages).toEqual([]);
  });

  test('a rotation splits no assistant from its tool results', async () => {
    for (let keep = 1; keep <= 12; keep += 1) {
      await using it = await setUp({ maxBytes: 6000, keepOnRotate: keep });
      for (let n = 0; n < 40; n += 1) await it.store.append(KEY, toolTurn(n * 5));
      const kept = (await it.store.load(KEY))?.messages ?? [];
      expect(kept[0]?.role).not.toBe('tool');
      const calls = kept.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
      expect(kept.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(calls);
    }
  });

  test('messages that are large by themselves neither stop appends nor fill the archive again and again', async () => {
    await using it = await setUp({ maxBytes: 2000 });
    const huge = message(0, { content: 'x'.repeat(5000) });
    await it.store.append(KEY, [huge]);
    expect((await it.store.load(KEY))?.messages).toEqual([huge]);
    for (let n = 1; n <= 20; n += 1) await it.store.append(KEY, [message(n)]);
    expect((await it.store.load(KEY))?.messages.at(-1)).toEqual(message(20));
    const archived = (await jsonLines(it.archive)).filter((line) => line['id'] === huge.id);
    expect(archived.length).toBeLessThanOrEqual(2);
  });

  test('a batch that a rotation cut and that comes again after a crash is not written behind its own end', async () => {
    await using it = await setUp({ maxBytes: 4000, keepOnRotate: 5 });
    const batch = messages(60);
    const ids = async () => (await jsonLines(it.path)).slice(1).map((line) => line['id']);
    await it.store.append(KEY, batch);
    // Killed before its caller knew of it.
    await it.open().append(KEY, batch);
    expect(await ids()).toEqual(batch.map(({ id }) => id));
    await it.open().load(KEY);
    await it.open().append(KEY, batch);
    expect(await ids()).toEqual(messages(5, 55).map(({ id }) => id));
    await it.open().append(KEY, messages(62));
    expect(await ids()).toEqual(messages(7, 55).map(({ id }) => id));
    // An old line among new ones, as a dead letter leaves that is run again, is no end of a batch.
    await it.open().append(KEY, [message(70), message(55), message(71)]);
    expect((await ids()).slice(-3)).toEqual(['m-61', 'm-70', 'm-71']);
  });

  test('of the lines before what a rotation left of a batch, those that it did not take out are written', async () => {
    await using it = await setUp({ maxBytes: 4000, keepOnRotate: 5 });
    const batch = messages(60);
    await it.store.append(KEY, batch);
    await it.open().load(KEY);
    await it.open().append(KEY, [message(90), ...batch, message(91)]);
    const left = [...messages(5, 55), message(90), message(91)];
    expect((await jsonLines(it.path)).slice(1).map((line) => line['id'])).toEqual(left.map(({ id }) => id));
  });

  test('a turn before lines that come again is written, although these are the whole session since /new', async () => {
    await using it = await setUp();
    await it.store.append(KEY, messages(2));
    await it.store.rewrite(KEY, []);
    const failed = messages(2, 10);
    await it.store.append(KEY, failed);
    // Another turn ended, and the failed one was run again, before the mover wrote either.
    await it.store.append(KEY, [...messages(2, 20), ...failed]);
    expect((await it.store.load(KEY))?.messages).toEqual([...failed, ...messages(2, 20)]);
  });

  test('one batch larger than the limit is kept whole in file and archive', async () => {
    await using it = await setUp({ maxBytes: 2000, keepOnRotate: 3 });
    await it.store.append(KEY, [message(0)]);
    await it.store.append(KEY, messages(50));
    expect((await it.store.load(KEY))?.messages).toEqual(messages(3, 47));
    expect((await jsonLines(it.archive)).map((line) => line['id'])).toEqual(
      expect.arrayContaining(messages(50).map(({ id }) => id)),
    );
  });
});

describe('the flat directory of earlier versions', () => {
  async function legacy(dir: string, key: string) {
    const header = { schema_version: 1, session_key: key, summary: 'old days', created_at: message(0).timestamp };
    const lines = [{ ...header, updated_at: message(0).timestamp }, ...messages(3)];
    await mkdir(join(dir, 'sessions'), { recursive: true });
    await writeFile(legacyPath(dir, key), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }

  test.each(['load', 'append', 'rewrite'] as const)(
    'a session is moved to its new place when %s first opens it',
    async (method) => {
      await using it = await setUp();
      await legacy(it.dir, KEY);
      expect(await it.store.list()).toMatchObject([{ key: KEY, messages: 3 }]);
      if (method === 'append') await it.store.append(KEY, messages(4));
      if (method === 'rewrite') await it.store.rewrite(KEY, messages(4));
      const session = await it.store.load(KEY);
      expect(session?.messages).toEqual(messages(method === 'load' ? 3 : 4));
      expect(session?.header.summary).toBe('old days');
      expect(await readdir(join(it.dir, 'sessions'))).toEqual([]);
      expect(await it.store.list()).toHaveLength(1);
    },
  );

  test('removing a session removes its old file too', async () => {
    await using it = await setUp();
    await legacy(it.dir, KEY);
    await it.store.remove(KEY);
    expect(await it.open().load(KEY)).toBeUndefined();
  });

  test('A37 an old file whose header names another session stays where it is', async () => {
    await using it = await setUp();
    await legacy(it.dir, KEY);
    const other = legacyPath(it.dir, '_main:x:1');
    await writeFile(other, await readFile(legacyPath(it.dir, KEY)));
    expect(await it.store.load('_main:x:1')).toBeUndefined();
    expect(await stat(other)).toBeTruthy();
  });
});

test('F46 a thousand sessions and many appends leave no descriptor open', async () => {
  await using it = await setUp();
  const descriptors = async () => (process.platform === 'linux' ? (await readdir('/proc/self/fd')).length : 0);
  await it.store.append(KEY, messages(1));
  const before = await descriptors();
  for (let n = 0; n < 1000; n += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, k) => it.store.append(`_main:soak:${n + k}`, messages(3))));
  }
  expect(await it.store.list()).toHaveLength(1001);
  // Other tests of this process may still be closing or opening a few of theirs.
  await until('the descriptors are closed', async () => (await descriptors()) <= before + 2);
});
