import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { cpuMs } from '../testing/cpu-time.ts';
import { tempDir } from '../testing/fakes.ts';
import { eraseFiles, type MadeFiles, madeFiles, workspaceOf } from './made-files.ts';

const GROUP = 'chat:group';
const EVE = 'chat:eve';
const WORDS = 'the code of the front door is 4711';

let ids = 0;

/** A turn in which a call ran for the last hour, as `made` says it: its words, then a call and its result. */
function turn(by: string, words: string, args: unknown = {}): readonly SessionMessage[] {
  ids += 1;
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const [id, call] = [`chat:${ids}`, `call-${ids}`];
  const calls = [{ id: call, name: 'shell', arguments: typeof args === 'string' ? args : JSON.stringify(args) }];
  return [
    { id: `${id}:in`, role: 'user', content: words, by, timestamp: at(-3_600_000) },
    { id: `${id}#1`, role: 'assistant', content: '', tool_calls: calls, by, timestamp: at(-3_600_000) },
    { id: `${id}#2`, role: 'tool', content: 'done', tool_call_id: call, by, timestamp: at(3_600_000) },
  ];
}

/** A line in which Ada calls nothing. */
const said = (content: string): readonly SessionMessage[] => turn('chat:ada', content).slice(0, 1);
/** One whose call ran before the file was there. */
const ran = (args: unknown): readonly SessionMessage[] =>
  turn('chat:ada', 'go on', args).map((line) => ({ ...line, timestamp: '2020-01-01T00:00:00.000Z' }));

interface Case {
  readonly dir: string;
  readonly files: readonly string[];
  readonly parts: readonly (readonly SessionMessage[])[];
  readonly busy?: readonly string[];
}

async function found({ dir, files, parts, busy = [] }: Case) {
  const workspace = workspaceOf(dir, GROUP);
  for (const file of files) {
    await mkdir(dirname(join(workspace, file)), { recursive: true });
    await writeFile(join(workspace, file), `${WORDS}\n`);
  }
  return await madeFiles({
    ...{ dataDir: dir, key: 'hash', isOwn: () => false, busy },
    theirs: { principals: new Set([EVE]), runs: new Set(), names: [] },
    async *sessions() {
      for (const lines of parts) yield { session: GROUP, lines };
    },
  });
}

const names = (files: readonly { readonly path: string }[]): readonly string[] => files.map(({ path }) => path);
const ofEve = (): readonly SessionMessage[] => turn(EVE, WORDS);

test('a file that a call of the person alone made is theirs, also where it has no ending', async () => {
  await using dir = await tempDir();
  const { theirs, left } = await found({
    dir: dir.path,
    files: ['out/made.txt', 'Notes'],
    parts: [[...ofEve(), ...said('hello')]],
  });
  expect([names(theirs).toSorted(), left]).toEqual([['Notes', 'out/made.txt'], []]);
});

test.each([
  ['an option of a command', 'plan.txt', ran({ command: 'python x.py --in=plan.txt' })],
  ['a bold word', 'plan.txt', said('**plan.txt** is fine')],
  ['a mark before it', 'plan.txt', said('see @plan.txt')],
  ['a sentence without blanks', '报告.docx', said('请保留报告.docx文件')],
  ['a name with a blank', 'shopping list.txt', said('keep "shopping list.txt"')],
  ['a long ending', 'app.properties', said('read app.properties.')],
  ['another case', 'Plan.TXT', said('plan.txt')],
  ['a decomposed sign', 'caf\u00e9.txt', said('cafe\u0301.txt')],
  ['an escape in JSON', 'caf\u00e9.txt', ran('{"path":"caf\\u00e9.txt"}')],
  ['arguments that are no JSON', 'plan.txt', ran('{"path": plan.txt')],
])('a file that another named stays: %s', async (_way, file, lines) => {
  await using dir = await tempDir();
  const { theirs, left } = await found({ dir: dir.path, files: [file], parts: [[...ofEve(), ...lines]] });
  expect(names(theirs)).toEqual([]);
  expect(left).toEqual([expect.stringMatching(`/${file}$`)]);
});

test('a file that calls of the person only changed stays, and is named, also where it holds no words of theirs', async () => {
  await using dir = await tempDir();
  const changes = { id: 'call-e', name: 'edit_file', arguments: JSON.stringify({ path: './plan.txt' }) };
  const lines = ofEve().map((line) => (line.tool_calls ? { ...line, tool_calls: [...line.tool_calls, changes] } : line));
  const parts = [lines];
  const withWords = await found({ dir: dir.path, files: ['plan.txt'], parts });
  const named = [expect.stringMatching(/\/plan\.txt$/)];
  expect([names(withWords.theirs), withWords.left]).toEqual([[], named]);
  await writeFile(join(workspaceOf(dir.path, GROUP), 'plan.txt'), 'of Ben');
  const without = await found({ dir: dir.path, files: [], parts });
  expect([names(without.theirs), without.left]).toEqual([[], named]);
  await rm(join(workspaceOf(dir.path, GROUP), 'plan.txt'));
  expect((await found({ dir: dir.path, files: [], parts })).left).toEqual([]);
});

test('a call and its result may lie in different parts of a session', async () => {
  await using dir = await tempDir();
  const lines = ofEve();
  const { theirs } = await found({ dir: dir.path, files: ['made.txt'], parts: [lines.slice(0, 2), lines.slice(2)] });
  expect(names(theirs)).toEqual(['made.txt']);
});

test('where a run is under way, and where a call of another ran meanwhile, a file stays', async () => {
  await using dir = await tempDir();
  const busy = await found({ dir: dir.path, files: ['a.txt'], parts: [ofEve()], busy: [GROUP] });
  const beside = await found({ dir: dir.path, files: ['a.txt'], parts: [[...ofEve(), ...turn('chat:ada', 'go on')]] });
  expect([busy, beside].map(({ theirs, left }) => [theirs.length, left.length])).toEqual([
    [0, 1],
    [0, 1],
  ]);
});

test('a word of a megabyte is read in less than a second', async () => {
  await using dir = await tempDir();
  const began = performance.now();
  await found({ dir: dir.path, files: ['made.txt'], parts: [[...ofEve(), ...said('deadbeef'.repeat(131_072))]] });
  expect(performance.now() - began).toBeLessThan(1_000);
});

/** The most CPU time, ms, in which nothing else was done while `work` was under way. */
async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let [last, isOver] = [cpuMs(), false];
  const look = (): void => {
    longest = Math.max(longest, cpuMs() - last);
    last = cpuMs();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  await new Promise((resolve) => setImmediate(resolve));
  return longest;
}

test('many files and what others said are compared in pieces, so that others are served', async () => {
  await using dir = await tempDir();
  const files = Array.from({ length: 200 }, (_, n) => `a-file-of-eve-${n}.txt`);
  const others = Array.from({ length: 5 }, () => said('a-file-of-eve-'.repeat(100_000))).flat();
  const parts = [[...ofEve(), ...others, ...said('keep a-file-of-Eve-199.txt')]];
  let made: MadeFiles | undefined;
  const longest = await longestHold(async () => {
    made = await found({ dir: dir.path, files, parts });
  });
  expect([made?.theirs.length, made?.left]).toEqual([199, [expect.stringContaining('a-file-of-eve-199.txt')]]);
  expect(longest).toBeLessThan(300);
});

test('a group in which others made 200,000 calls is read to its end', async () => {
  await using dir = await tempDir();
  const many = Array.from({ length: 200_000 }, () => ran({})).flat();
  const { theirs } = await found({ dir: dir.path, files: ['made.txt'], parts: [[...ofEve(), ...many]] });
  expect(names(theirs)).toEqual(['made.txt']);
});

test('a workspace with more files than are looked at is named', async () => {
  await using dir = await tempDir();
  const workspace = workspaceOf(dir.path, GROUP);
  await mkdir(workspace, { recursive: true });
  const files = Array.from({ length: 20_001 }, (_, index) => String(index)).join(' ');
  await promisify(execFile)('sh', ['-c', `touch ${files}`], { cwd: workspace });
  const { left } = await found({ dir: dir.path, files: [], parts: [ofEve()] });
  expect(left).toEqual([expect.stringMatching(/^workspaces\/.*\/$/)]);
});

test('a file that was replaced since it was looked at stays', async () => {
  await using dir = await tempDir();
  const { theirs } = await found({ dir: dir.path, files: ['a.txt', 'b.txt'], parts: [ofEve()] });
  const workspace = workspaceOf(dir.path, GROUP);
  await writeFile(join(workspace, 'new'), 'of another');
  await rename(join(workspace, 'new'), join(workspace, 'a.txt'));
  expect(names(await eraseFiles(theirs))).toEqual(['a.txt']);
  expect(await readdir(workspace)).toEqual(['a.txt']);
});

const descriptors = (): number => readdirSync('/proc/self/fd').length;

test.runIf(existsSync('/proc/self/fd'))('however many files go, few are open at once', async () => {
  await using dir = await tempDir();
  const { theirs } = await found({ dir: dir.path, files: Array.from({ length: 200 }, (_, n) => `${n}.txt`), parts: [ofEve()] });
  const before = descriptors();
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, descriptors() - before);
  }, 1);
  expect([theirs.length, await eraseFiles(theirs)]).toEqual([200, []]);
  clearInterval(timer);
  expect(most).toBeLessThan(20);
});

/** A workspace with one file of these bytes, which another may have a part in. */
async function holding(dir: string, name: string, write: (path: string) => Promise<void>, parts = [ofEve()]) {
  const workspace = workspaceOf(dir, GROUP);
  await mkdir(dirname(join(workspace, name)), { recursive: true });
  await write(join(workspace, name));
  return await found({ dir, files: [], parts, busy: [GROUP] });
}

const bytes = Buffer.concat([Buffer.from([0, 255, 1]), Buffer.alloc(1_000)]);
const utf16 = Buffer.from(WORDS, 'utf16le');

test.each([
  ['beyond 4 MB', Buffer.concat([Buffer.alloc(9 * 1024 * 1024, 'x'), Buffer.from(WORDS)])],
  ['across two slices', Buffer.concat([Buffer.alloc(256 * 1024 - 9, 'x'), Buffer.from(WORDS)])],
  ['among bytes that are no text', Buffer.concat([bytes, Buffer.from(WORDS), bytes])],
  ['in UTF-16', Buffer.concat([bytes, utf16])],
  ['in UTF-16 of the other order', Buffer.concat([Buffer.from([0]), Buffer.from(utf16).swap16()])],
])('words of the person are found %s', async (_where, content) => {
  await using dir = await tempDir();
  const { left } = await holding(dir.path, 'data.bin', (path) => writeFile(path, content));
  expect(left).toEqual([expect.stringMatching(/\/data\.bin$/)]);
});

test('words of the person are found in the name of a file, in the target of a link, and among files of messages', async () => {
  await using dir = await tempDir();
  const workspace = workspaceOf(dir.path, GROUP);
  await mkdir(workspace, { recursive: true });
  await symlink(`nowhere/${WORDS}`, join(workspace, 'link'));
  await holding(dir.path, 'uploads/copy', (path) => writeFile(path, WORDS));
  const { left } = await holding(dir.path, `${WORDS}.txt`, (path) => writeFile(path, 'x'));
  expect(left.map((path) => path.split('/').at(-1))).toEqual(['link', `${WORDS}.txt`, 'copy']);
});

test.each([
  ['zip', 'PK\x03\x04'],
  ['pdf', '\n%PDF-1.7'],
  ['gz', '\x1f\x8b\x08'],
  ['br', 'any bytes'],
])('a packed file that was written after the person first wrote is one that cannot be searched: %s', async (ending, start) => {
  await using dir = await tempDir();
  const write = (path: string): Promise<void> => writeFile(path, Buffer.from(start, 'latin1'));
  const { left, unsearched } = await holding(dir.path, `made.${ending}`, write);
  expect([left, unsearched]).toEqual([[], [expect.stringMatching(`/made.${ending}$`)]]);
  const later = ofEve().map((line) => ({ ...line, timestamp: '2099-01-01T00:00:00.000Z' }));
  expect(await holding(dir.path, `made.${ending}`, write, [later])).toMatchObject({ left: [], unsearched: [] });
});

test('a packed file that came with a message of another is not named', async () => {
  await using dir = await tempDir();
  const of = said('here').map((line) => ({ ...line, media: ['uploads/a.zip'] }));
  const write = (path: string): Promise<void> => writeFile(path, Buffer.from('PK\x03\x04', 'latin1'));
  expect(await holding(dir.path, 'uploads/a.zip', write, [ofEve(), of])).toMatchObject({ left: [], unsearched: [] });
});

test('a file that claims to be larger than what is searched takes no time, and is one that cannot be searched', async () => {
  await using dir = await tempDir();
  const began = performance.now();
  const { unsearched } = await holding(dir.path, 'sparse', async (path) => {
    await writeFile(path, '');
    await truncate(path, 64 * 1024 ** 3);
  });
  expect(unsearched).toEqual([expect.stringMatching(/\/sparse$/)]);
  expect(performance.now() - began).toBeLessThan(5_000);
});

test('a search tells how far it is, and ends when it is to end', async () => {
  await using dir = await tempDir();
  const seen: number[] = [];
  const stop = new AbortController();
  const workspace = workspaceOf(dir.path, GROUP);
  await mkdir(workspace, { recursive: true });
  await writeFile(join(workspace, 'large'), Buffer.alloc(2 * 1024 * 1024));
  const search = madeFiles({
    ...{ dataDir: dir.path, key: 'hash', isOwn: () => false, busy: [], signal: stop.signal },
    theirs: { principals: new Set([EVE]), runs: new Set(), names: [] },
    onProgress: ({ bytes: read }) => {
      seen.push(read);
      if (seen.length === 3) stop.abort(new Error('enough'));
    },
    async *sessions() {
      yield { session: GROUP, lines: ofEve() };
    },
  });
  await expect(search).rejects.toThrow('enough');
  expect(seen).toEqual([262_144, 524_288, 786_432]);
});

test('a file whose name is no UTF-8 cannot be searched, and is named', async () => {
  await using dir = await tempDir();
  const workspace = workspaceOf(dir.path, GROUP);
  await mkdir(Buffer.concat([Buffer.from(`${workspace}/d`), Buffer.from([0xff])]), { recursive: true });
  await writeFile(Buffer.concat([Buffer.from(`${workspace}/f`), Buffer.from([0xff])]), WORDS);
  const { unsearched } = await found({ dir: dir.path, files: [], parts: [ofEve()] });
  expect(unsearched.map((path) => path.split('/').at(-1))).toEqual(['d\ufffd', 'f\ufffd']);
});

test('what a repository keeps packed is named as one', async () => {
  await using dir = await tempDir();
  const write = (start: string) => (path: string) => writeFile(path, Buffer.from(start, 'latin1'));
  await holding(dir.path, 'code/.git/objects/ab/cd', write('x\x01packed'));
  const { unsearched } = await holding(dir.path, 'code/.git/objects/pack/pack-1.pack', write('PACK'));
  expect(unsearched).toEqual([expect.stringMatching(/\/code\/\.git$/)]);
});
