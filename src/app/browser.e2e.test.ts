// A browser that a scripted model uses in the daemon: real chromium, real sandbox, and the web on this machine.

import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { type SeenRequest, webPeer } from '../testing/web-peer.ts';

const OWNER = { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] };

function needsBrowser(context: TestContext): void {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
  needs(context, 'chromium', '--version');
}

const act = (action: string, more: Record<string, unknown> = {}) => ({
  toolCalls: [{ name: 'browser', arguments: { action, ...more } }],
});

async function scene(script: Script, answer: (request: SeenRequest, response: ServerResponse) => void) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const peer = await webPeer(answer);
  onTestFinished(() => peer[Symbol.asyncDispose]());
  const model = scriptedModel(script);
  const rig = await testDaemon({
    ...{ dataDir: dir.path, model, gateway: OWNER, policy: { mode: 'full' }, sections: { sandbox: {} } },
    daemon: { connector: peer.connector },
  });
  return {
    ...{ ...rig, dir: dir.path, model, peer },
    told: () => model.requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : [])) ?? [],
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

test('a page is opened, read, and typed into', async (context) => {
  needsBrowser(context);
  const page =
    '<title>Shop</title><form method=post action=/order><input id=name name=name><button>Order</button></form><p>Hi</p>';
  await using at = await scene(
    [
      act('navigate', { url: 'http://shop.example/' }),
      act('get_text'),
      act('type', { selector: '#name', text: 'tea' }),
      act('click', { selector: 'button' }),
      act('evaluate', { expression: 'document.title' }),
      act('screenshot'),
      'done',
    ],
    (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page),
  );
  await at.channel.deliver({ platformId: 'm1', text: 'order tea' });
  await at.daemon.gateway.idle();
  console.log(
    at.told(),
    at.peer.seen.map(({ method, url, body }) => [method, url, body]),
  );
  expect(at.channel.texts()).toEqual(['done']);
}, 60_000);
