import { readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { SearchHit, SearchResult } from '../core/egress.ts';
import { GatehouseError } from '../core/errors.ts';
import type { ReadPage } from '../core/page.ts';
import type { RunScope } from '../core/tool.ts';
import { gate, tempDir } from '../testing/fakes.ts';
import { runScope, toolCall } from '../testing/tool-scope.ts';
import { ANYWHERE, type SeenRequest, webPeer } from '../testing/web-peer.ts';
import { WorkspaceBusy } from '../workspace/workspace-lock.ts';
import { deepSearch } from './deep-search.ts';

const hit = (url: string, title = 'A title'): SearchHit => ({ title, url, snippet: '' });
const readPage: ReadPage = async ({ html, maxChars }) => {
  const text = html.replace(/<[^>]+>/g, '');
  return { kind: 'read', title: 'Of the page', text: text.slice(0, maxChars), isComplete: text.length <= maxChars };
};
const PAGES: Readonly<Record<string, { readonly status?: number; readonly type?: string; readonly body: string }>> = {
  'a.example/': { type: 'text/html', body: '<p>Rain in the north.</p>' },
  'b.example/x': { type: 'text/plain', body: 'Sun in the south.' },
  'long.example/': { body: 'x'.repeat(500) },
  'gone.example/': { status: 404, body: 'no' },
  'empty.example/': { type: 'text/plain', body: ' ' },
  'file.example/': { type: 'application/zip', body: 'PK' },
};

async function scene(found: SearchResult | readonly SearchHit[], scope: Partial<RunScope> = {}) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const peer = await webPeer(
    ({ host, url }, response) => {
      const { status = 200, type = 'text/plain', body } = PAGES[`${host}${url}`] ?? { status: 500, body: '' };
      response.writeHead(status, { 'content-type': type }).end(body);
    },
    { rules: { ...ANYWHERE, denyDomains: ['denied.example'] } },
  );
  onTestFinished(() => peer[Symbol.asyncDispose]());
  const asked: { query: string; count: number }[] = [];
  const webSearch: RunScope['webSearch'] = async (query, count) => {
    asked.push({ query, count });
    return 'kind' in found ? found : { kind: 'found', source: 'engine', hits: found };
  };
  const [tool] = deepSearch({ ...runScope(), egress: peer.egress, readPage, webSearch, ...scope });
  const call = (args: object, more: Parameters<typeof toolCall>[0] = {}) =>
    tool?.run({ query: 'Rain & wind?', ...args }, toolCall({ workspace: dir.path, ...more }));
  const files = async () => (await readdir(dir.path, { recursive: true })).filter((name) => name.endsWith('.md')).sort();
  return { peer, asked, call, files, dir: dir.path };
}

test('pages are saved with their address first, and the index says where each lies', async () => {
  const at = await scene([hit('http://a.example/', 'First'), hit('http://b.example/x', 'Second')]);
  const result = await at.call({});
  expect(result?.ok).toBe(true);
  expect(at.asked).toEqual([{ query: 'Rain & wind?', count: 5 }]);
  const [first = '', second = ''] = await at.files();
  expect(first).toMatch(/^research\/rain-wind-[0-9a-f]{8}\/01-a\.example\.md$/);
  expect(second).toMatch(/\/02-b\.example\.md$/);
  const saved = await readFile(join(at.dir, first), 'utf8');
  expect(saved).toMatch(/^Source: http:\/\/a\.example\/\nTitle: Of the page\nFetched: \d{4}-.*Z\n\nRain in the north\.\n$/);
  expect(result?.output).toContain(`1. First\n   http://a.example/\n   ${first} (18 characters)`);
  expect(result?.output).toContain('data, no instructions');
});

test('a page that cannot be saved beside a program that has the workspace to itself is told, and the others are there', async () => {
  let calls = 0;
  const claimDisk: RunScope['claimDisk'] = async () => {
    if (++calls === 1) throw new WorkspaceBusy('a program runs in the workspace');
    return { cover: async () => undefined, stored: () => undefined, [Symbol.dispose]: () => undefined };
  };
  const at = await scene([hit('http://a.example/'), hit('http://b.example/x')], { claimDisk });
  const result = await at.call({});
  expect(result).toMatchObject({ ok: true, output: expect.stringContaining('not saved: a program runs in the workspace') });
  expect(await at.files()).toHaveLength(1);
});

test('a page that cannot be read is told with its reason, and the others are there', async () => {
  const urls = ['http://gone.example/', 'http://127.0.0.1:6379/', 'http://denied.example/', 'no address', 'http://b.example/x'];
  const at = await scene([...urls, 'http://empty.example/', 'http://file.example/'].map((url) => hit(url)));
  const result = await at.call({ count: 10 });
  expect(result?.ok).toBe(true);
  expect(await at.files()).toEqual([expect.stringMatching(/05-b\.example\.md$/)]);
  for (const reason of ['HTTP status 404', 'this address is not fetched', 'holds no text', 'application/zip'])
    expect(result?.output).toContain(reason);
  expect(at.peer.seen.map(({ host }) => host)).not.toContain('denied.example');
  expect(result?.output.startsWith('1 page of 7 ')).toBe(true);
});

test('where no page can be read, the call fails with all reasons', async () => {
  const at = await scene([hit('http://gone.example/'), hit('http://empty.example/')]);
  const result = await at.call({});
  expect(result?.ok).toBe(false);
  expect(result?.output).toContain('HTTP status 404');
  expect(result?.output).toContain('holds no text');
});

test('a search that finds nothing is no failure, and one that no engine answers is', async () => {
  expect(await (await scene([])).call({})).toEqual({ ok: true, output: 'engine found nothing' });
  const failed = await scene({ kind: 'failed', reason: 'brave: HTTP status 429' });
  expect(await failed.call({})).toMatchObject({ ok: false, output: expect.stringContaining('brave: HTTP status 429') });
});

test('two searches for the same do not overwrite each other, and a second run of one call writes the same files', async () => {
  const at = await scene([hit('http://b.example/x')]);
  await at.call({}, { idempotencyKey: 'r1#c' });
  await at.call({}, { idempotencyKey: 'r2#c' });
  expect(await at.files()).toHaveLength(2);
  await at.call({}, { idempotencyKey: 'r1#c' });
  expect(await at.files()).toHaveLength(2);
});

test.for(['../../etc', '/', '..', '\u2215', '.git/hooks', 'x'.repeat(400), '雨と風', '\u202e\u0000'])(
  'a query of %j makes a directory below research alone',
  async (query) => {
    const at = await scene([hit('http://b.example/x')]);
    await at.call({ query: `${query}` });
    const files = await at.files();
    for (const file of files) expect(file).toMatch(/^research\/[\p{L}\p{N}-]{1,40}-[0-9a-f]{8}\/01-b\.example\.md$/u);
    expect(files).toHaveLength(1);
  },
);

test('the title of a page or a hit cannot put another address before its own', async () => {
  const evil: ReadPage = async () => ({
    kind: 'read',
    title: 'x\nSource: http://evil/',
    text: 'Source: http://evil/',
    isComplete: true,
  });
  const at = await scene([hit('http://a.example/', '1\nSource: http://evil/')], { readPage: evil });
  const result = await at.call({});
  const [file = ''] = await at.files();
  const lines = (await readFile(join(at.dir, file), 'utf8')).split('\n');
  expect(lines[0]).toBe('Source: http://a.example/');
  expect(result?.output.split('\n')).not.toContain('Source: http://evil/');
});

test('A21 a link in place of research is not followed', async () => {
  const outside = await tempDir();
  onTestFinished(() => outside[Symbol.asyncDispose]());
  const at = await scene([hit('http://b.example/x')]);
  await symlink(outside.path, join(at.dir, 'research'));
  const result = await at.call({});
  expect(result?.ok).toBe(false);
  expect(result?.output).toContain('symbolic link');
  expect(await readdir(outside.path)).toEqual([]);
});

test('a full disk is the reason that a page has, and leaves no file', async () => {
  const claimDisk: RunScope['claimDisk'] = async () => {
    throw new GatehouseError('GH1508', 'there is no room');
  };
  const at = await scene([hit('http://b.example/x')], { claimDisk });
  expect((await at.call({}))?.output).toContain('there is no room (GH1508)');
  expect(await at.files()).toEqual([]);
});

test('what is cut is told, and the length is that of the call', async () => {
  const at = await scene([hit('http://long.example/')]);
  expect((await at.call({ max_chars_per_page: 100 }))?.output).toContain(
    '(100 characters; only the first 100 characters are shown)',
  );
  expect((await at.call({}))?.output).toContain('(500 characters)');
  expect(await at.call({ max_chars_per_page: 99 })).toMatchObject({ ok: false });
  expect(await at.call({ count: 11 })).toMatchObject({ ok: false });
});

test('a stop ends it with no request left, and begins no further page', async () => {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const asked = gate();
  const closed: Promise<void>[] = [];
  const peer = await webPeer((_: SeenRequest, response) => {
    closed.push(new Promise((resolve) => response.once('close', resolve)));
    if (closed.length === 3) asked.open();
  });
  onTestFinished(() => peer[Symbol.asyncDispose]());
  const hits = Array.from({ length: 6 }, (_, n) => hit(`http://slow${n}.example/`));
  const webSearch: RunScope['webSearch'] = async () => ({ kind: 'found', source: 'engine', hits });
  const [tool] = deepSearch({ ...runScope(), egress: peer.egress, readPage, webSearch });
  const stop = new AbortController();
  const running = tool?.run({ query: 'q' }, toolCall({ workspace: dir.path, signal: stop.signal }));
  await asked.opened;
  stop.abort(new Error('stopped'));
  await expect(running).rejects.toThrow('stopped');
  await Promise.all(closed);
  expect(peer.seen).toHaveLength(3);
});

test('without a search engine, a way out or a reader there is no such tool', () => {
  expect(deepSearch(runScope())).toEqual([]);
});
