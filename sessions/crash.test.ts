/** What a kill and a full disk leave behind, with real processes. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { SessionDamage } from '../src/core/session.ts';
import { FakeClock, tempDir } from '../src/testing/fakes.ts';
import { message, messages } from './contract.ts';
import { sessionStem } from './file-name.ts';
import { openJsonlStore } from './jsonl-store.ts';

const KEY = '_main:cli:me';
const modulePath = (file: string) => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)));
const PRELUDE = `
  import { openJsonlStore } from ${modulePath('./jsonl-store.ts')};
  import { systemClock } from ${modulePath('../src/lib/clock.ts')};
  const store = openJsonlStore({ dir: process.argv[1], clock: systemClock, onDamage: (damage) => console.log('damage', damage.lines.length) });
  const line = (n, length) => ({ id: 'm-' + n, role: 'user', content: 'x'.repeat(length), timestamp: new Date().toISOString() });
  const tell = (text) => new Promise((resolve) => process.stdout.write(text + '\\n', resolve));`;

function child(script: string, dir: string, limit?: { blocks: number }) {
  const node = [process.execPath, '--input-type=module', '-e', PRELUDE + script, dir];
  // ulimit -f counts 512-byte blocks in POSIX sh; Node ignores SIGXFSZ, so a write past it fails with EFBIG.
  const [command = '', ...args] = limit ? ['/bin/sh', '-c', `ulimit -f ${limit.blocks}; exec "$@"`, 'sh', ...node] : node;
  const running = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<number | null>((resolve) => running.once('exit', resolve));
  return { running, exited, lines: createInterface({ input: running.stdout }) };
}

test('killed between any two instants, every acknowledged line is there, once, and nothing is damaged but an unfinished one', async () => {
  await using dir = await tempDir();
  const acknowledged = new Set<string>();
  const damages: SessionDamage[] = [];
  let next = 0;
  for (let round = 0; round < 8; round += 1) {
    const script = `for (let n = ${next}; ; n += 1) { await store.append(${JSON.stringify(KEY)}, [line(n, 200 + (n * 7919) % 5000)]); await tell('m-' + n); }`;
    const { running, exited, lines } = child(script, dir.path);
    const enough = 5 + round * 11;
    let count = 0;
    for await (const id of lines) {
      acknowledged.add(id);
      count += 1;
      if (count === enough) setTimeout(() => running.kill('SIGKILL'), round % 4);
    }
    await exited;
    const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: (damage) => damages.push(damage) });
    const ids = (await store.load(KEY))?.messages.map(({ id }) => id) ?? [];
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining([...acknowledged]));
    next = ids.length;
  }
  for (const damage of damages) expect(damage.lines).toHaveLength(1);
});

test('F13 a disk that fills up in the middle of a line: refused, earlier lines untouched, the same append works later', async () => {
  await using dir = await tempDir();
  const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: () => undefined });
  await store.append(KEY, messages(3));
  const before = await readFile(`${sessionStem(dir.path, KEY)}.jsonl`);
  const script = `
    try { await store.append(${JSON.stringify(KEY)}, [line(3, 20000)]); await tell('accepted'); } catch (error) { await tell(error.code); }
    await tell(String((await store.load(${JSON.stringify(KEY)})).messages.length));
    await store.append(${JSON.stringify(KEY)}, [line(4, 10)]);
    await tell(String((await store.load(${JSON.stringify(KEY)})).messages.length));`;
  const { exited, lines } = child(script, dir.path, { blocks: 8 });
  const told: string[] = [];
  for await (const text of lines) told.push(text);
  expect(await exited).toBe(0);
  expect(told).toEqual(['GH1401', '3', '4']);
  const after = await readFile(`${sessionStem(dir.path, KEY)}.jsonl`);
  expect(after.subarray(0, before.length).equals(before)).toBe(true);
  await store.append(KEY, [message(3)]);
  expect((await store.load(KEY))?.messages.map(({ id }) => id)).toEqual(['m-0', 'm-1', 'm-2', 'm-4', 'm-3']);
});
