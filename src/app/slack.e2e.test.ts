// What Slack offers beside messages, through the whole program: answers to one person, shortcuts, the AI
// pane.
import { afterEach, expect, test } from 'vitest';
import { CHANNELS } from '../../channels/registry.ts';
import { configSchema } from '../../config/schema.ts';
import { openPane } from '../simulator/slack/assistant-pane.ts';
import { startSlackServer } from '../simulator/slack/server.ts';
import { BOT_USER, DIRECT, type Json, PERSON } from '../simulator/slack/workspace.ts';
import { quickClock } from '../testing/channel-host.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { type ModelServer, startModelServer, userText } from '../testing/model-server.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

const CHANNEL = 'C0TEST';
const STRANGER = 'U0EVE';
const PROMPTS = [{ title: 'Plan', message: 'Plan my week' }];

async function scene() {
  const platform = await startSlackServer();
  const model = await startModelServer();
  const dir = await tempDir();
  open.push(dir, model, platform);
  const settings = { api_root: platform.apiRoot, rate_limits: false, suggested_prompts: PROMPTS };
  const slack = { type: 'slack', allowed_senders: [PERSON], allowed_groups: [CHANNEL], settings };
  const provider = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' };
  const config = { ...provider, gateway: { channels: [slack], http: { port: 0 } } };
  const env = { TEST_KEY: 'sk-test', SLACK_BOT_TOKEN: platform.botToken, SLACK_APP_TOKEN: platform.appToken };
  const daemon = await startInline({ dir: dir.path, config, env });
  open.push(daemon);
  await daemon.ready();
  await until('it is connected', () => platform.sockets.open === 1);
  let presses = 0;
  return {
    ...{ platform, model, daemon },
    press(user: string, payload: Json): void {
      presses += 1;
      const by = { user: { id: user, name: user }, team: { id: 'T0TEST' }, callback_id: 'ask', trigger_id: `1.${presses}` };
      platform.sockets.deliver('interactive', { ...by, action_ts: platform.workspace.nextTs(), ...payload });
    },
    posts: () => platform.sends.map(({ channel, text }) => [channel, text]),
  };
}

/** What the model was asked. */
function lastWords({ model }: { readonly model: ModelServer }): string {
  const request = model.requests.at(-1);
  return request ? userText(request) : '';
}

test('a command in a channel is answered to its sender alone, at once and in its turn, and asks no model', async () => {
  const at = await scene();
  const { workspace } = at.platform;
  at.platform.say({ channel: CHANNEL, text: `<@${BOT_USER}> /help` });
  await until('help is shown', () => workspace.ephemerals.length === 1);
  at.platform.say({ channel: CHANNEL, text: `<@${BOT_USER}> /model` });
  await until('the model is shown', () => workspace.ephemerals.length === 2);
  expect(workspace.ephemerals).toMatchObject([
    { channel: CHANNEL, user: PERSON, text: expect.stringContaining('/new'), isShown: true },
    { channel: CHANNEL, user: PERSON, text: expect.stringContaining('Model: openai/m'), isShown: true },
  ]);
  expect(await at.daemon.settled(2)).toBeDefined();
  expect([at.posts(), at.model.requests]).toEqual([[], []]);
});

test('a shortcut of a message asks the agent about it, and the answer goes to the person who chose it', async () => {
  const at = await scene();
  at.platform.names.set('U0BOB', 'Bob');
  const message = at.platform.store({ channel: CHANNEL, user: 'U0BOB', text: 'ship it on Friday' });
  at.press(PERSON, { type: 'message_action', channel: { id: CHANNEL }, message });
  await until('it is answered', () => at.platform.sends.length > 0);
  await at.daemon.settled(1);
  expect(new Set(at.platform.sends.map(({ channel }) => channel))).toEqual(new Set([DIRECT]));
  expect(lastWords(at)).toContain('written by Bob, not by the sender');
  expect(lastWords(at)).toContain('ship it on Friday');
});

test('a global shortcut shows help in the direct conversation; a stranger gets a pairing code and reaches no model', async () => {
  const at = await scene();
  at.press(PERSON, { type: 'shortcut' });
  at.press(STRANGER, { type: 'shortcut' });
  const message = at.platform.store({ channel: CHANNEL, user: PERSON, text: 'a secret of the channel' });
  at.press(STRANGER, { type: 'message_action', channel: { id: CHANNEL }, message });
  await until('both are answered', () => new Set(at.platform.sends.map(({ channel }) => channel)).size === 2);
  await until('all are acknowledged', () => at.platform.sockets.unacknowledged === 0);
  const told = Object.groupBy(at.platform.sends, ({ channel }) => channel);
  expect(told[DIRECT]).toMatchObject([{ text: expect.stringContaining('/new') }]);
  for (const { text } of told['D0EVE'] ?? []) expect(text).not.toMatch(/\/new|secret/);
  expect(at.model.requests).toEqual([]);
});

test('the AI pane suggests, answers in its thread, and is named after the words of people who may write', async () => {
  const at = await scene();
  const { workspace } = at.platform;
  const [mine, theirs] = [openPane(at.platform), openPane(at.platform, STRANGER)];
  await until('both show the prompts', () => workspace.prompts.size === 2);
  at.platform.say({ text: 'Plan my week', thread_ts: mine.ts });
  at.platform.say({ channel: theirs.channel, user: STRANGER, text: 'let me in', thread_ts: theirs.ts });
  await until('the thread has a name', () => workspace.titles.get(`${DIRECT}:${mine.ts}`) === 'Plan my week');
  await until('both are answered', () => new Set(at.platform.sends.map(({ threadTs }) => threadTs)).size === 2);
  await until('all are acknowledged', () => at.platform.sockets.unacknowledged === 0);
  expect(workspace.titles.size).toBe(1);
  expect(at.model.requests).toHaveLength(1);
  expect(lastWords(at)).toMatch(/Plan my week$/);
});

test('an answer to one person that was under way when the daemon ended is in doubt after it, shown as that and not sent again', async () => {
  const platform = await startSlackServer();
  const dir = await tempDir();
  open.push(dir, platform);
  const settings = (await CHANNELS['slack']?.())?.settings.parse({ api_root: platform.apiRoot, rate_limits: false });
  const slack = { type: 'slack', allowed_senders: [PERSON], allowed_groups: [CHANNEL], settings };
  const start = async (): Promise<TestDaemon> => {
    const secret = (name: string): string => (name === 'SLACK_BOT_TOKEN' ? platform.botToken : platform.appToken);
    const config = configSchema.parse({ gateway: { channels: [slack] } });
    const daemon = { config, secret, registry: CHANNELS, clock: quickClock(20) };
    return await testDaemon({ dataDir: dir.path, model: scriptedModel([]), daemon });
  };
  platform.fault({ method: 'chat.postEphemeral', kind: 'hang' });
  const before = await start();
  await until('it is connected', () => platform.sockets.open === 1);
  platform.say({ channel: CHANNEL, text: `<@${BOT_USER}> /help` });
  await until('it was accepted', () => platform.workspace.ephemerals.length === 1);
  await before.daemon.close({ turnsMs: 0, deliveryMs: 0 });
  const after = await start();
  open.push(after);
  await until('it is in doubt', async () => (await after.daemon.journal.counts()).outbox.UNKNOWN === 1);
  await after.daemon.gateway.idle();
  expect([platform.workspace.ephemerals.length, platform.sends]).toEqual([1, []]);
});
