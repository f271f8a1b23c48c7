/** Large files, of which a turn needs the end alone. */
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import type { SessionDamage, SessionMessage } from '../src/core/session.ts';
import { FakeClock, tempDir } from '../src/testing/fakes.ts';
import { message, messages } from './contract.ts';
import { sessionStem } from './file-name.ts';
import { openJsonlStore } from './jsonl-store.ts';
import { formatFile, formatMessages, newHeader } from './session-file.ts';

const KEY = '_main:telegram:42';
const BLOCK = 64 * 1024;

async function fileOf(lines: readonly SessionMessage[], key = KEY) {
  const dir = await tempDir();
  const path = `${sessionStem(dir.path, KEY)}.jsonl`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, formatFile(newHeader(key, 0, { model: 'fast' }), lines));
  const damages: SessionDamage[] = [];
  const open = () => openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: (damage) => damages.push(damage) });
  return { path, open, damages, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

/** Messages of some KB; characters of one to four bytes, so that blocks end within some of them. */
function large(count: number, length = 4_000): SessionMessage[] {
  return Array.from({ length: count }, (_, n) =>
    message(n, { content: 'aü€😀'.repeat(length / 8 + (n % 7)) + '.'.repeat(n % 5) }),
  );
}

/** Bytes that this process read, of files and all else. */
async function bytesRead(): Promise<number> {
  return Number(/^rchar: (\d+)$/m.exec(await readFile('/proc/self/io', 'utf8'))?.[1]);
}

test('of a large file no more is read than a block of its beginning and what the newest messages fill', async (context) => {
  if (process.platform !== 'linux') context.skip('bytes that were read are counted by Linux');
  const lines = large(1_500);
  await using it = await fileOf(lines);
  const size = (await readFile(it.path)).length;
  expect(size).toBeGreaterThan(7_000_000);
  const before = await bytesRead();
  const session = await it.open().load(KEY, 51);
  const read = (await bytesRead()) - before;
  expect(session?.messages).toEqual(lines.slice(-51));
  expect(session?.header).toMatchObject({ session_key: KEY, model: 'fast' });
  expect(read).toBeLessThan(1_000_000);
});

test('a file beyond its limit is not read as a whole for its newest messages either; the next append rotates it', async () => {
  await using it = await fileOf(large(2_500));
  const store = it.open();
  expect((await store.load(KEY, 10))?.messages).toEqual(large(2_500).slice(-10));
  await store.append(KEY, [message(9_999)]);
  expect((await it.open().load(KEY))?.messages).toHaveLength(201);
});

test('the newest messages are the same as those of the whole file, wherever its blocks end', async () => {
  for (const shift of [0, 1, 2, 3]) {
    const lines = [message(0, { content: 'x'.repeat(shift) }), ...large(60)].map((line, n) => ({ ...line, id: `m-${n}` }));
    await using it = await fileOf(lines);
    for (const newest of [0, 1, 2, 15, 16, 17, 33, 60, 61, 62, 500])
      expect((await it.open().load(KEY, newest))?.messages, `${newest} of ${shift}`).toEqual(
        newest === 0 ? [] : lines.slice(-newest),
      );
  }
});

test('a message longer than several blocks is read whole', async () => {
  const lines = [...large(40), message(90, { content: '€'.repeat(BLOCK) }), message(91)];
  await using it = await fileOf(lines);
  expect((await it.open().load(KEY, 1))?.messages).toEqual(lines.slice(-1));
  expect((await it.open().load(KEY, 2))?.messages).toEqual(lines.slice(-2));
});

test('F17 a torn last line of a large file is mended when the newest messages are loaded, and told once', async () => {
  const lines = large(60);
  await using it = await fileOf(lines);
  await appendFile(it.path, '{"id":"torn"');
  expect((await it.open().load(KEY, 2))?.messages.slice(-2)).toEqual(lines.slice(-2));
  expect(it.damages).toMatchObject([{ key: KEY, lines: [62] }]);
  expect((await it.open().load(KEY, 2))?.messages).toEqual(lines.slice(-2));
  expect(it.damages).toHaveLength(1);
});

test.each([
  ['a line that is no message', '{"id":"x","role":"root","content":"c","timestamp":"2026-01-01T00:00:00Z"}\n', 1],
  ['a line without an id', '{"role":"user","content":"c","timestamp":"2026-01-01T00:00:00Z"}\n', 0],
  ['empty lines', '\n\n\n', 0],
])('F18 %s at the end of a large file is treated as in a small one', async (_what, end, told) => {
  const lines = large(60);
  await using it = await fileOf(lines);
  await appendFile(it.path, end);
  const given =
    _what === 'a line without an id'
      ? [...lines, message(0, { id: 'line-62', content: 'c', timestamp: '2026-01-01T00:00:00Z' })]
      : lines;
  expect((await it.open().load(KEY, 2))?.messages.slice(-2)).toEqual(given.slice(-2));
  expect(it.damages).toHaveLength(told);
});

test('A37 a large file of another session, or of a newer version, is not shown', async () => {
  await using foreign = await fileOf(large(60), '_main:telegram:666');
  expect(await foreign.open().load(KEY, 2)).toBeUndefined();
  expect(foreign.damages).toHaveLength(1);
  await using newer = await fileOf(large(60));
  await writeFile(
    newer.path,
    (await readFile(newer.path, 'utf8')).replace(/^.*$/m, `{"schema_version":2,"session_key":"${KEY}"}`),
  );
  await expect(newer.open().load(KEY, 2)).rejects.toMatchObject({ code: 'GH1402' });
  await expect(newer.open().append(KEY, [message(99)])).rejects.toMatchObject({ code: 'GH1402' });
});

test('an append to a large file skips every line that the file holds, without parsing it', async () => {
  const lines = large(1_000);
  await using it = await fileOf(lines);
  const store = it.open();
  await store.load(KEY, 51);
  await store.append(KEY, [lines[3] ?? message(3), ...messages(2, 5_000), ...lines.slice(-2)]);
  expect(await readFile(it.path, 'utf8')).toBe(
    formatFile(newHeader(KEY, 0, { model: 'fast' }), lines) + formatMessages(messages(2, 5_000)),
  );
  // Bytes that rotted further up are found by a reader of the whole file, and only there.
  const text = await readFile(it.path);
  text[text.indexOf('"id":"m-500"') + 20] = 0;
  await writeFile(it.path, text);
  await it.open().append(KEY, [message(6_000)]);
  expect(it.damages).toEqual([]);
  expect((await it.open().load(KEY))?.messages).toHaveLength(1_002);
  expect(it.damages).toHaveLength(1);
  expect(await it.open().load(KEY, 1)).toMatchObject({ messages: [message(6_000)] });
});

test('F17 a line in mid-file whose end a power cut took is written again when it comes again', async () => {
  const lines = large(60);
  await using it = await fileOf(lines);
  const bytes = await readFile(it.path);
  const within = (n: number) => bytes.indexOf(`"id":"m-${n}"`) + 1_000;
  await writeFile(it.path, bytes.fill(0, within(57), within(58)));
  await it.open().append(KEY, lines.slice(55));
  const order = [...lines.slice(0, 57), ...lines.slice(59), ...lines.slice(57, 59)];
  expect((await it.open().load(KEY))?.messages).toEqual(order);
  expect(it.damages).toMatchObject([{ key: KEY, lines: [59] }]);
});
