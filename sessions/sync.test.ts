/** What a power loss would leave. */
import { mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { tempDir } from '../src/testing/fakes.ts';
import { fileCalls } from '../src/testing/file-calls.ts';
import { sessionStem } from './file-name.ts';

const KEY = '_main:cli:me';
const modulePath = (file: string) => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)));
const prelude = (data: string) => `
  import { writeSync } from 'node:fs';
  import { openJsonlStore } from ${modulePath('./jsonl-store.ts')};
  import { systemClock } from ${modulePath('../src/lib/clock.ts')};
  const open = () => openJsonlStore({ dir: ${JSON.stringify(data)}, clock: systemClock, onDamage: () => undefined });
  const store = open();
  const key = ${JSON.stringify(KEY)};
  const line = (n) => ({ id: 'm-' + n, role: 'user', content: 'words', timestamp: new Date().toISOString() });
  const done = (what) => writeSync(1, 'DONE ' + what + '\\n');`;

/** What came between two marks of the program. */
function between(all: readonly string[], from: string, to: string): readonly string[] {
  return all.slice(all.indexOf(`DONE ${from}`) + 1, all.indexOf(`DONE ${to}`));
}

test('F12 an append resolves after a sync that is younger than its write', async (context) => {
  await using dir = await tempDir();
  const data = join(await realpath(dir.path), 'data');
  const all = await fileCalls(
    context,
    dirname(data),
    `${prelude(data)} await store.append(key, [line(0)]); done('begin'); await store.append(key, [line(1)]); done('end');`,
  );
  const path = `${sessionStem(data, KEY)}.jsonl`;
  const own = between(all, 'begin', 'end').filter((call) => call.endsWith(path));
  expect(own).toEqual([`write ${path}`, `sync ${path}`]);
});

test('F12 an append of what is there already syncs: a predecessor may have been killed before it did', async (context) => {
  await using dir = await tempDir();
  const data = join(await realpath(dir.path), 'data');
  const all = await fileCalls(
    context,
    dirname(data),
    `${prelude(data)} await store.append(key, [line(0)]); done('begin'); await store.append(key, [line(0)]); done('end');`,
  );
  const path = `${sessionStem(data, KEY)}.jsonl`;
  expect(between(all, 'begin', 'end')).toContain(`sync ${path}`);
});

test('F12 every name on the way to a session file is on disk before its first append resolves, new file or not', async (context) => {
  await using dir = await tempDir();
  const data = join(await realpath(dir.path), 'data');
  await mkdir(data);
  const all = await fileCalls(
    context,
    dirname(data),
    `${prelude(data)} done('begin'); await store.append(key, [line(0)]); done('made'); await open().append(key, [line(1)]); done('end');`,
  );
  const sessions = dirname(sessionStem(data, KEY));
  const places = [sessions, dirname(sessions), dirname(dirname(sessions)), data].map((place) => `sync ${place}`);
  expect(between(all, 'begin', 'made')).toEqual(expect.arrayContaining(places));
  expect(between(all, 'made', 'end')).toEqual(expect.arrayContaining(places));
});

test('the names on the way are synced once for a file, also when it is made anew, until it is removed', async (context) => {
  await using dir = await tempDir();
  const data = join(await realpath(dir.path), 'data');
  const all = await fileCalls(
    context,
    dirname(data),
    `${prelude(data)} await store.append(key, [line(0)]); done('made'); await store.rewrite(key, [line(1)]);
     await store.append(key, [line(2)]); done('anew'); await store.remove(key); done('gone'); await store.append(key, [line(3)]); done('end');`,
  );
  const user = dirname(dirname(sessionStem(data, KEY)));
  const above = [`sync ${user}`, `sync ${dirname(user)}`];
  for (const call of above) expect(between(all, 'made', 'anew')).not.toContain(call);
  expect(between(all, 'gone', 'end')).toEqual(expect.arrayContaining(above));
});

test('F12 a session file is replaced by one whose bytes are on disk, and then its name is', async (context) => {
  await using dir = await tempDir();
  const data = join(await realpath(dir.path), 'data');
  const all = await fileCalls(
    context,
    dirname(data),
    `${prelude(data)} await store.append(key, [line(0)]); done('begin'); await store.rewrite(key, [line(1)]); done('end');`,
  );
  const stem = sessionStem(data, KEY);
  const own = between(all, 'begin', 'end').filter((call) => !call.includes('anon_inode'));
  const renamed = own.indexOf(`rename ${stem}.jsonl`);
  const draft = own
    .slice(0, renamed)
    .findLast((call) => call.startsWith('write'))
    ?.slice('write '.length);
  expect(own.slice(0, renamed).at(-1)).toBe(`sync ${draft}`);
  expect(own.slice(renamed)).toContain(`sync ${dirname(stem)}`);
  // What it replaces is in the archive first, as a whole and by name.
  const archived = own.indexOf(`sync ${stem}.archive.jsonl`);
  expect(archived).toBeGreaterThan(own.indexOf(`write ${stem}.archive.jsonl`));
  expect(own.slice(archived, renamed)).toContain(`sync ${dirname(stem)}`);
});
