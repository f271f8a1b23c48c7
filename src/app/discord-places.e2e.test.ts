// Where answers stand on Discord, by the real daemon and across kills: a thread of their own, or for one
// person alone.
import { expect, test } from 'vitest';
import { channel as discord } from '../../channels/discord/index.ts';
import { startDiscordProxy } from '../simulator/discord/proxy.ts';
import { type ChildDaemon, startChild } from '../testing/child-daemon.ts';
import { ADA, DM, TOKEN } from '../testing/discord/setup.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { startModelServer, stream, textPieces } from '../testing/model-server.ts';
import type { RunningDaemon } from '../testing/running-daemon.ts';

/** Processes start slowly on a machine that does other things. */
const PATIENCE = 60_000;
const LONG = Array.from({ length: 60 }, (_, n) => `Line ${n} ${'of many words '.repeat(6)}`).join('\n\n');

async function scene() {
  const proxy = await startDiscordProxy();
  const model = await startModelServer({
    script: (request) => stream(textPieces(JSON.stringify(request).includes('tell me all') ? LONG : 'the answer')),
  });
  const dir = await tempDir();
  const { guildId, channelId: room, botId, token } = proxy.peer;
  const settings = discord.settings.parse({ api_root: proxy.url, cdn_origins: [proxy.origin], auto_threads: true });
  const entry = { type: 'discord', allowed_senders: [ADA], allowed_groups: [room], settings };
  const config = {
    ...{ provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY' },
    gateway: { channels: [entry], max_attempts: 10, http: { port: 0 } },
  };
  const options = { dir: dir.path, config, env: { TEST_KEY: 'sk', DISCORD_BOT_TOKEN: token } };
  // The bot is told of the server when a person writes there.
  await proxy.write({ guildId, channelId: room, senderId: ADA, content: 'before' });
  return {
    ...{ proxy, room },
    dying: (killAt?: string): Promise<ChildDaemon> => startChild({ ...options, ...(killAt !== undefined && { killAt }) }),
    last: (): Promise<RunningDaemon> => startInline(options),
    ask: (text: string): Promise<string> =>
      proxy.write({ guildId, channelId: room, senderId: ADA, senderName: 'Ada', content: `<@${botId}> ${text}` }),
    command(name: string): void {
      const id = String(BigInt(Date.now() - 1_420_070_400_000) << 22n);
      const base = { id, application_id: '135000000000000001', token: TOKEN, version: 1, type: 2, data: { type: 1, name } };
      const place = { channel_id: room, guild_id: guildId, member: { user: { id: ADA, username: 'ada' } } };
      proxy.gateway.dispatch('INTERACTION_CREATE', { ...base, ...place });
    },
    /** What the bot wrote in a channel or thread, the oldest first. */
    async words(place: string): Promise<readonly string[]> {
      const answer = await fetch(`${proxy.peer.url}/v10/channels/${place}/messages?limit=100`, {
        headers: { authorization: `Bot ${token}` },
      });
      const messages = answer.ok ? ((await answer.json()) as { content: string; author: { id: string } }[]) : [];
      return messages.flatMap(({ content, author }) => (author.id === botId ? [content] : [])).reverse();
    },
    async [Symbol.asyncDispose]() {
      await model[Symbol.asyncDispose]();
      await proxy.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Dies of itself, at the point that it was started with. */
async function died(daemon: ChildDaemon): Promise<void> {
  expect(`${(await daemon.ended).signal} ${daemon.stderr().slice(-400)}`).toMatch(/^SIGKILL/);
}

test('killed while the thread of its answer is opened: one thread, and one answer in it', { timeout: 3 * PATIENCE }, async () => {
  await using at = await scene();
  const held = gate();
  at.proxy.fault({ call: /\/threads$/, kind: 'hold', until: held.opened });
  await using first = await at.dying();
  await first.ready();
  const question = await at.ask('what about the cats?');
  const starts = (): number => at.proxy.calls.filter(({ call }) => call.endsWith('/threads')).length;
  await until('the thread is there', () => starts() === 1, PATIENCE);
  await first.stop('SIGKILL');
  held.open();
  await using last = await at.last();
  await last.settled(1, PATIENCE);
  expect(starts()).toBe(2);
  expect(await at.words(question)).toEqual(['the answer']);
  expect(await at.words(at.room)).toEqual([]);
});

test('killed between the parts of an answer: the rest follows in its thread, none twice', { timeout: 3 * PATIENCE }, async () => {
  await using at = await scene();
  await using first = await at.dying('settle:before:2');
  await first.ready();
  const question = await at.ask('tell me all');
  await died(first);
  await using last = await at.last();
  await last.settled(1, PATIENCE);
  const lines = [...(await at.words(question)).join('\n').matchAll(/^Line (\d+) /gm)].map((match) => Number(match[1]));
  expect(lines).toEqual(Array.from({ length: 60 }, (_, line) => line));
  expect(await at.words(at.room)).toEqual([]);
});

test.each(['between acknowledgement and answer', 'after the answer to a command and before its record'])(
  'killed %s: its sender sees one answer, and no other person sees any',
  { timeout: 3 * PATIENCE },
  async (moment) => {
    await using at = await scene();
    const isAnswered = moment.startsWith('after');
    const shown = () => at.proxy.interactions.shown(TOKEN);
    if (!isAnswered) at.proxy.fault({ call: /^PATCH \/webhooks/, kind: 'answer', status: 503, body: 'no', times: 99 });
    await using first = await at.dying(isAnswered ? 'settle:before' : undefined);
    await first.ready();
    at.command('help');
    if (isAnswered) await died(first);
    else {
      await until('"is thinking" is shown', () => shown() !== undefined, PATIENCE);
      await first.stop('SIGKILL');
    }
    expect(shown()).toMatchObject({ isEphemeral: true });
    at.proxy.clearFaults();
    await using last = await at.last();
    await until('it is answered', () => shown()?.content?.includes('/help'), PATIENCE);
    await last.settled(0, PATIENCE);
    expect(shown()).toMatchObject({ isEphemeral: true });
    expect([...(await at.words(at.room)), ...(await at.words(DM))]).toEqual([]);
    expect(`${first.stderr()}${first.stdout()}${last.stderr()}${last.stdout()}`).not.toContain(TOKEN);
  },
);
