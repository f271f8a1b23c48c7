// The operator's own number: they ask in the chat with themselves, and the answers are messages of the same
// account.
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { channel as whatsapp } from '../../channels/whatsapp/index.ts';
import type { Model } from '../core/model.ts';
import { startWhatsAppPlatform, type WhatsAppPlatform } from '../simulator/whatsapp/server.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const PATIENCE = 60_000;
vi.setConfig({ testTimeout: 3 * PATIENCE });

const USAGE = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };

/** Answers at once and counts. */
function answering(): Model & { calls: number; tools: readonly string[] } {
  return {
    id: 'p/m',
    contextWindow: 128_000,
    calls: 0,
    tools: [],
    async *call({ tools }) {
      this.calls += 1;
      this.tools = tools.map(({ name }) => name);
      const text = `answer ${this.calls}`;
      yield { type: 'done', answer: { text, toolCalls: [], stop: 'end', usage: USAGE, provider: 'p', model: 'm' } };
    },
  };
}

function start(platform: WhatsAppPlatform, dataDir: string, model: Model) {
  const settings = whatsapp.settings.parse({
    web_socket_url: platform.url,
    media_root: platform.httpUrl,
    rate_limits: false,
    self_chat: true,
  });
  const entry = { type: 'whatsapp', allowed_senders: [], settings };
  return testDaemon({ dataDir, model, entry, daemon: { registry: { whatsapp: async () => whatsapp } } });
}

const answers = (platform: WhatsAppPlatform) => platform.seen.flatMap(({ message }) => message.extendedTextMessage?.text ?? []);

test('the operator is answered in the chat with themselves, once a question, also when all of it comes back after a restart', async () => {
  await using platform = await startWhatsAppPlatform();
  await using dir = await tempDir();
  await platform.link(join(dir.path, 'channels', 'whatsapp'));
  const model = answering();
  const ask = (text: string) => platform.write({ from: platform.owner, toSelf: true, message: { conversation: text } });
  const echo = async () => {
    for (const { id, message } of [...platform.seen]) await platform.write({ from: platform.owner, toSelf: true, id, message });
    await until('all of it was taken', () => platform.unacknowledged === 0, PATIENCE);
  };
  {
    await using first = await start(platform, dir.path, model);
    await ask('one?');
    await until('it is answered', () => answers(platform).length === 1, PATIENCE);
    await echo();
    await first.daemon.gateway.idle();
    // Offered to the operator alone.
    expect(model.tools).toContain('web_fetch');
  }
  await using second = await start(platform, dir.path, model);
  await echo();
  await ask('two?');
  await until('that is answered, too', () => answers(platform).length === 2, PATIENCE);
  await second.daemon.gateway.idle();
  expect(answers(platform)).toEqual(['answer 1', 'answer 2']);
  expect(model.calls).toBe(2);
});

test('a friend who writes to the number gets neither an answer nor a pairing code, and the model is not asked', async () => {
  await using platform = await startWhatsAppPlatform();
  await using dir = await tempDir();
  await platform.link(join(dir.path, 'channels', 'whatsapp'));
  const model = answering();
  await using running = await start(platform, dir.path, model);
  await platform.write({ from: platform.person('15551110000', 'Ada'), message: { conversation: 'lunch?' } });
  await until('it was taken', () => platform.unacknowledged === 0, PATIENCE);
  await running.daemon.gateway.idle();
  expect(platform.seen).toEqual([]);
  expect(model.calls).toBe(0);
});
