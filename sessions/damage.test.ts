/** What bytes that rotted, tore or vanished do to a session: F17 and F18. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import type { SessionDamage, SessionMessage } from '../src/core/session.ts';
import { FakeClock, tempDir } from '../src/testing/fakes.ts';
import { byLoad } from '../src/testing/sample.ts';
import { message, messages, toolTurn } from './contract.ts';
import { sessionStem } from './file-name.ts';
import { openJsonlStore } from './jsonl-store.ts';
import { formatFile, formatHeader, newHeader, parseFile } from './session-file.ts';

const KEY = '_main:telegram:42#work';
const NOW = Date.UTC(2026, 0, 3);
/** Header, a tool turn, plain messages, text beyond ASCII. */
const HISTORY: readonly SessionMessage[] = [...toolTurn(0), ...messages(9, 2), message(14, { content: 'grüße 😀 }{ "}{"' })];
const HEADER = newHeader(KEY, NOW, { summary: 'a summary' });
const FILE = Buffer.from(formatFile(HEADER, HISTORY));
/** Of each line of the history in the file. Bytes, without the newline. */
const LENGTHS = HISTORY.map((line) => Buffer.byteLength(JSON.stringify(line)));
/** Fewer bytes, because each length costs several syncs of a real disk. */
const SHORT = FILE.subarray(0, FILE.indexOf('{"id":"m-6"'));

async function setUp() {
  // In memory where that is possible: what is tested are bytes, and each length costs several syncs.
  const dir = await tempDir(existsSync('/dev/shm') ? '/dev/shm' : undefined);
  const damages: SessionDamage[] = [];
  const stem = sessionStem(dir.path, KEY);
  await mkdir(dirname(stem), { recursive: true });
  const open = () => openJsonlStore({ dir: dir.path, clock: new FakeClock(NOW), onDamage: (damage) => damages.push(damage) });
  return {
    open,
    damages,
    path: `${stem}.jsonl`,
    quarantine: `${stem}.quarantine.jsonl`,
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

/** Messages whose bytes, and whose newline before and after where asked, lie outside [from, to). */
function untouched(from: number, to: number, file = FILE): SessionMessage[] {
  let start = formatHeader(HEADER).length;
  return HISTORY.filter((_line, index) => {
    const end = start + (LENGTHS[index] ?? 0);
    const isWhole = end <= file.length && (to <= start || from >= end);
    start = end + 1;
    return isWhole;
  });
}

// Hundreds of file syncs where there is no memory disk.
const MANY_SYNCS = { timeout: 90_000 };

test(
  'F17 torn at every byte: whole lines stay, the torn one is quarantined, the next append starts on a new line',
  MANY_SYNCS,
  async () => {
    await using it = await setUp();
    for (let length = 0; length < SHORT.length; length += byLoad(3, 1)) {
      writeFileSync(it.path, SHORT.subarray(0, length));
      rmSync(it.quarantine, { force: true });
      it.damages.length = 0;
      const store = it.open();
      // Every other length goes through append first, as after a crash when nobody read the session.
      if (length % 2 === 0) await store.append(KEY, [message(99)]);
      const whole = untouched(length, SHORT.length, SHORT);
      const session = await store.load(KEY);
      expect(session?.messages, `cut at ${length}`).toEqual(length % 2 === 0 ? [...whole, message(99)] : whole);
      if (length % 4 === 1) {
        await store.append(KEY, [message(99), message(100)]);
        expect((await it.open().load(KEY))?.messages).toEqual([...whole, message(99), message(100)]);
      }
      const lastNewline = SHORT.subarray(0, length).lastIndexOf(0x0a) + 1;
      const torn = SHORT.subarray(lastNewline, length);
      const isLineWhole = length === 0 || torn.length === 0 || SHORT[length] === 0x0a;
      expect(it.damages.length, `cut at ${length}`).toBe(isLineWhole && length > 0 ? 0 : 1);
      const kept = isLineWhole || readFileSync(it.quarantine).equals(Buffer.concat([torn, Buffer.from('\n')]));
      expect(kept, `quarantine of a cut at ${length}`).toBe(true);
    }
  },
);

test('F18 every byte changed in nine ways: nothing throws and no undamaged line is lost', () => {
  const flips = [1, 2, 4, 8, 16, 32, 64, 128, 255];
  // Collected, because an assertion costs more than reading the file does, and there are 100,000 of them.
  const wrong: string[] = [];
  for (let at = 0; at < FILE.length; at += byLoad(5, 1)) {
    const expected = untouched(at, at + 1);
    for (const flip of flips) {
      const bytes = Buffer.from(FILE);
      bytes[at] = (bytes[at] ?? 0) ^ flip;
      const parsed = parseFile(bytes, KEY, NOW);
      const place = `byte ${at} ^ ${flip}`;
      if (parsed.kind !== 'session') {
        wrong.push(`${place}: ${parsed.kind}`);
        continue;
      }
      const { messages: kept, header, bad } = parsed;
      const lost = expected.filter((line) => !kept.some((one) => one.id === line.id && isDeepStrictEqual(one, line)));
      if (lost.length > 0) wrong.push(`${place}: lost ${JSON.stringify(lost)}`);
      const isHeaderRight = header.schema_version === 1 && header.session_key === KEY && typeof header.topic === 'string';
      if (!isHeaderRight) wrong.push(`${place}: header ${JSON.stringify(header)}`);
      // What was taken away is in quarantine, byte for byte.
      if (kept.length < HISTORY.length && bad.length === 0) wrong.push(`${place}: nothing is in quarantine`);
    }
  }
  expect(wrong).toEqual([]);
});

test('F18 the store mends a flipped byte on disk, says so once, and leaves other sessions alone', async () => {
  await using it = await setUp();
  const other = '_main:telegram:43';
  await it.open().append(other, messages(3));
  for (let at = 0; at < FILE.length; at += 17) {
    const bytes = Buffer.from(FILE);
    bytes[at] = (bytes[at] ?? 0) ^ 0x80; // never a valid character in this file's place
    await writeFile(it.path, bytes);
    await rm(it.quarantine, { force: true });
    it.damages.length = 0;
    const store = it.open();
    const loaded = await store.load(KEY);
    expect(loaded?.messages.length).toBeGreaterThanOrEqual(HISTORY.length - 1);
    expect(it.damages).toHaveLength(1);
    expect(it.damages[0]).toMatchObject({ key: KEY, quarantine: it.quarantine });
    expect((await readFile(it.quarantine)).length).toBeGreaterThan(0);
    expect(await it.open().load(KEY)).toEqual(loaded);
    expect(it.damages).toHaveLength(1);
  }
  expect((await it.open().load(other))?.messages).toEqual(messages(3));
});

test('F18 a block of zeros at any place costs only the lines it covers', () => {
  for (const size of [1, 7, 64, 512]) {
    for (let at = 0; at + size <= FILE.length; at += 5) {
      const bytes = Buffer.from(FILE).fill(0, at, at + size);
      const parsed = parseFile(bytes, KEY, NOW);
      expect(parsed).toMatchObject({ kind: 'session' });
      if (parsed.kind !== 'session') continue;
      expect(parsed.messages, `${size} zeros at ${at}`).toEqual(untouched(at, at + size));
    }
  }
});

test('F18 zeros behind the end, as a file system leaves them after power loss, cost nothing', async () => {
  await using it = await setUp();
  await writeFile(it.path, Buffer.concat([FILE, Buffer.alloc(4096)]));
  expect((await it.open().load(KEY))?.messages).toEqual(HISTORY);
  expect(it.damages).toHaveLength(1);
});

test('F18 a file that somebody emptied is reported and goes on', async () => {
  await using it = await setUp();
  await writeFile(it.path, '');
  expect((await it.open().load(KEY))?.messages).toEqual([]);
  expect(it.damages).toHaveLength(1);
});

test('F18 a missing header is made anew and no message is lost', async () => {
  await using it = await setUp();
  await writeFile(it.path, FILE.subarray(FILE.indexOf(0x0a) + 1));
  const session = await it.open().load(KEY);
  expect(session?.messages).toEqual(HISTORY);
  expect(session?.header).toMatchObject({ session_key: KEY, topic: 'work', created_at: HISTORY[0]?.timestamp });
});

test('F18 what survived of a damaged header is kept', async () => {
  await using it = await setUp();
  await writeFile(it.path, Buffer.from(FILE.toString().replace('"session_key":"_main', '"session_key":"_mbin')));
  const session = await it.open().load(KEY);
  expect(session?.messages).toEqual(HISTORY);
  expect(session?.header).toMatchObject({ session_key: KEY, summary: 'a summary', created_at: HEADER.created_at });
  expect(it.damages).toMatchObject([{ lines: [1] }]);
});

test.each([
  ['an array', '[1]'],
  ['null', 'null'],
  ['a number', '7'],
  ['no role', '{"id":"x","content":"c","timestamp":"2026-01-01T00:00:00Z"}'],
  ['an unknown role', '{"id":"x","role":"root","content":"c","timestamp":"2026-01-01T00:00:00Z"}'],
  ['content that is no text', '{"id":"x","role":"user","content":{},"timestamp":"2026-01-01T00:00:00Z"}'],
  ['a time that is none', '{"id":"x","role":"user","content":"c","timestamp":"yesterday-ish"}'],
  ['tool calls that are none', '{"id":"x","role":"user","content":"c","tool_calls":[1],"timestamp":"2026-01-01T00:00:00Z"}'],
  ['media that is none', '{"id":"x","role":"user","content":"c","media":"a","timestamp":"2026-01-01T00:00:00Z"}'],
  ['a second header', formatHeader(HEADER).trimEnd()],
  ['deep nesting', `${'['.repeat(100_000)}`],
])('F18 a line that is JSON but no message is quarantined: %s', (_, line) => {
  const text = `${formatFile(HEADER, messages(1))}${line}\n${JSON.stringify(message(1))}\n`;
  const parsed = parseFile(Buffer.from(text), KEY, NOW);
  expect(parsed).toMatchObject({ kind: 'session', messages: messages(2), bad: [{ number: 3, bytes: Buffer.from(line) }] });
});
