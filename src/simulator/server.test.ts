import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../testing/fakes.ts';
import type { FaultKind, Platform, SeenMessage } from './platforms/platform.ts';
import { startSimulatorServer } from './server.ts';
import { Simulation } from './simulation.ts';

/** A platform on which the test itself is the bot. */
class PlainPlatform implements Platform {
  readonly type = 'plain';
  readonly channel = { type: 'plain' };
  readonly env = {};
  readonly needsFirstStart = false;
  readonly faults: readonly FaultKind[] = ['limit', 'slow'];
  readonly written: [number, string][] = [];
  readonly broken: [string, number][] = [];
  visible: SeenMessage[] = [];
  held = 0;
  typists: number[] = [];
  failure: Error | undefined;

  async begin(): Promise<void> {
    this.visible = [];
  }

  async write(person: number, text: string): Promise<void> {
    this.written.push([person, text]);
  }

  async seen(): Promise<readonly SeenMessage[]> {
    if (this.failure) throw this.failure;
    return this.visible;
  }

  async waiting(): Promise<number> {
    return this.held;
  }

  typing(): readonly number[] {
    return this.typists;
  }

  fault(kind: FaultKind, times: number): void {
    this.broken.push([kind, times]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.visible = [];
  }
}

async function start() {
  const platform = new PlainPlatform();
  const simulation = new Simulation(platform);
  const server = await startSimulatorServer(simulation, 0);
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await simulation[Symbol.asyncDispose]();
  });
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const messages = async () => (await (await fetch(`${server.url}/messages`)).json()) as { messages: unknown[]; waiting: number };
  return { platform, server, post, messages };
}

/** Everything the stream of events said so far. */
async function listen(url: string): Promise<{ text: () => string }> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { body } = await fetch(`${url}/events`, { signal: stop.signal });
  let text = '';
  void (async () => {
    for await (const chunk of body ?? []) text += Buffer.from(chunk as Uint8Array).toString();
  })().catch(() => undefined);
  return { text: () => text };
}

test('what a person writes reaches the platform and stands beside what the bot answers', async () => {
  const { platform, post, messages } = await start();
  expect(await post('/people/2/messages', { text: 'hi' })).toMatchObject({ status: 200, body: { ok: true } });
  expect(platform.written).toEqual([[2, 'hi']]);
  platform.visible = [{ person: 2, text: 'hello', at: Date.now() + 1_000 }];
  platform.held = 4;
  expect(await messages()).toMatchObject({
    channel: 'plain',
    faults: ['limit', 'slow'],
    waiting: 4,
    messages: [
      { id: 'person-0', person: 2, by: 'person', text: 'hi' },
      { person: 2, by: 'bot', text: 'hello', edited: false },
    ],
  });
});

test('an edit is told under the id of the message that is there, and nothing is told twice', async () => {
  const { platform, server } = await start();
  platform.visible = [{ person: 0, text: 'Hel', at: 5 }];
  const events = await listen(server.url);
  await until('the message is told', () => events.text().includes('"Hel"'));
  platform.visible = [{ person: 0, text: 'Hello', at: 5 }];
  await until('the edit is told', () => events.text().includes('"Hello"'));
  platform.typists = [1];
  await until('typing is told', () => events.text().includes('"people":[1]'));
  expect(events.text().match(/"id":"bot-0-5"/g)).toHaveLength(2);
  expect(events.text()).toContain('"text":"Hello","at":5,"edited":true');
  platform.visible = [
    { person: 0, text: 'Hello', at: 5 },
    { person: 0, text: 'there', at: 5 },
  ];
  await until('the second is told', () => events.text().includes('"there"'));
  platform.visible = [{ person: 1, text: 'elsewhere', at: 6 }];
  await until('both are taken back', () => events.text().match(/event: removed/g)?.length === 2);
  expect(events.text()).toContain('"id":"bot-0-5-1"');
});

test('who watches again is told which messages there are: one was taken back meanwhile', async () => {
  const { platform, server } = await start();
  platform.visible = [
    { person: 0, text: 'a', at: 5 },
    { person: 0, text: 'b', at: 6 },
  ];
  const first = await listen(server.url);
  await until('both are told', () => first.text().includes('"b"'));
  platform.visible = [{ person: 0, text: 'b', at: 6 }];
  await until('it is taken back', () => first.text().includes('event: removed'));
  const again = await listen(server.url);
  await until('all is told', () => again.text().includes('event: typing'));
  expect(again.text()).toContain('event: present\ndata: {"type":"present","ids":["bot-0-6"]}\n');
});

test('a platform that cannot be looked at is said to be in trouble, and watched on', async () => {
  const { platform, server } = await start();
  const events = await listen(server.url);
  platform.failure = new Error('the mailbox is locked');
  await until('trouble is told', () => events.text().includes('the mailbox is locked'));
  platform.failure = undefined;
  platform.visible = [{ person: 0, text: 'again', at: 5 }];
  await until('the message is told', () => events.text().includes('"again"'));
});

test('a fault is played as often as asked, once when nothing is said, and an unknown one names those there are', async () => {
  const { platform, post } = await start();
  expect((await post('/faults', { kind: 'limit', times: 3 })).status).toBe(200);
  expect((await post('/faults', { kind: 'slow' })).body).toMatchObject({ fault: { kind: 'slow', times: 1 } });
  expect(platform.broken).toEqual([
    ['limit', 3],
    ['slow', 1],
  ]);
  expect(await post('/faults', { kind: 'reorder' })).toMatchObject({
    status: 400,
    body: { ok: false, error: { hint: 'it can play limit, slow' } },
  });
  for (const times of [0, -1, 1.5, '2', 1e9]) expect((await post('/faults', { kind: 'limit', times })).status).toBe(400);
  expect(platform.broken).toHaveLength(2);
});

test.each([
  ['/people/0/messages', { text: '' }, 400],
  ['/people/0/messages', { text: 7 }, 400],
  ['/people/0/messages', {}, 400],
  ['/people/0/messages', { text: 'hi\0' }, 400],
  ['/people/100/messages', { text: 'hi' }, 400],
  ['/people/x/messages', { text: 'hi' }, 404],
  ['/people/0/messages', { text: 'x'.repeat(20_001) }, 400],
  ['/people/0/messages', { text: 'x'.repeat(140_000) }, 413],
  ['/people/0/messages', '{"text":', 400],
  ['/people/0/messages', '"hi"', 400],
  ['/people/0/messages', 'null', 400],
  ['/groups/0/messages', { person: 0, text: 'hi' }, 400],
  ['/people/0/files', { name: 'a.txt', base64: 'aGk=' }, 400],
  ['/groups/0/files', { name: 'a.txt', base64: 'aGk=' }, 404],
  ['/elsewhere', {}, 404],
])('%s with %.40j is refused with %i... and nothing is written', async (path, body, status) => {
  const { platform, post } = await start();
  expect(await post(path, body)).toMatchObject({ status, body: { ok: false } });
  expect(platform.written).toEqual([]);
});

test('A41 other web pages can neither read nor write: foreign Host, foreign Origin, and bodies that a form can send', async () => {
  const { platform, server, post } = await start();
  const { port } = new URL(server.url);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1',
    `127.0.0.1.evil.example:${port}`,
    `localhost:1${port}`,
  ]) {
    const request = get({ host: '127.0.0.1', port, path: '/messages', headers: { host } });
    const [response] = (await once(request, 'response')) as [{ statusCode: number; resume: () => void }];
    response.resume();
    expect([host, response.statusCode]).toEqual([host, 403]);
  }
  for (const origin of ['http://evil.example', 'null', `https://127.0.0.1:${port}`, `http://127.0.0.1:${port}.evil.example`]) {
    expect([origin, (await post('/people/0/messages', { text: 'hi' }, { origin })).status]).toEqual([origin, 403]);
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])
    expect((await post('/faults', { kind: 'limit' }, { 'content-type': type })).status).toBe(415);
  expect([platform.written, platform.broken]).toEqual([[], []]);
  expect((await post('/people/0/messages', { text: 'hi' }, { origin: server.url })).status).toBe(200);
});

test('A41 the page runs nothing inline, loads nothing from elsewhere and shows every text as text', async () => {
  const { server } = await start();
  for (const path of ['/', '/page.css', '/page.js', '/messages']) {
    const { status, headers } = await fetch(`${server.url}${path}`);
    expect([path, status]).toEqual([path, 200]);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect([headers.get('x-content-type-options'), headers.get('access-control-allow-origin')]).toEqual(['nosniff', null]);
  }
  const html = await readFile(join(import.meta.dirname, 'page/index.html'), 'utf8');
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]* src="\/)|(?:src|href)="(?!\/\w)/);
  const script = await readFile(join(import.meta.dirname, 'page/page.js'), 'utf8');
  expect(script).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|setHTML|srcdoc|\beval\b|new Function/,
  );
  expect(script).toContain('bubble.words.textContent = ');
});

test('a port that is taken is said in one sentence with what to do', async () => {
  const { server } = await start();
  const port = Number(new URL(server.url).port);
  await expect(startSimulatorServer(new Simulation(new PlainPlatform()), port)).rejects.toMatchObject({
    code: 'GH1004',
    hint: expect.stringContaining('--port'),
  });
});
