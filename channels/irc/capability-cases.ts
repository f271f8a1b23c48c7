/** What can be done by IRC, played against ngircd. For tests. */
import { expect } from 'vitest';
import type { OutboundPart } from '../../src/core/message.ts';
import { Bouncer } from '../../src/simulator/irc/bouncer.ts';
import { ircMissing, startIrcServer } from '../../src/simulator/irc/server.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../src/testing/channel-host.ts';
import { outbound, until } from '../../src/testing/fakes.ts';
import type { CapabilityCases } from '../capabilities.ts';
import { channel as descriptor } from './index.ts';

/** An adapter on the server, started, with Ada in #help and in private. */
async function scene() {
  await using resources = new AsyncDisposableStack();
  const server = resources.use(await startIrcServer());
  const ada = await server.join('Ada');
  ada.say('JOIN #help');
  const settings = descriptor.settings.parse({
    ...{ host: '127.0.0.1', port: server.proxy.port, tls: false, nick: 'bot', channels: ['#help'] },
  });
  const channel = await descriptor.create(settings, channelDeps({ name: 'irc', clock: quickClock() }));
  const host = new TestHost();
  const over = new AbortController();
  resources.defer(() => channel.stop());
  await channel.start(host, over.signal);
  await until('the bot is in the channel', () => ada.lines.some((line) => /:bot!\S+ JOIN/.test(line)));
  const kept = resources.move();
  return {
    ada,
    host,
    send: (part: Partial<OutboundPart>) =>
      channel.send(outbound({ channel: 'irc', account: channel.account, chatId: 'Ada', ...part }), {
        plain: false,
        signal: over.signal,
      }),
    received: () => until('it arrived', () => host.accepted[0]),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function play(run: (at: Awaited<ReturnType<typeof scene>>) => Promise<void>): () => Promise<void> {
  return async () => {
    await using at = await scene();
    await run(at);
  };
}

const SAID_LINE = { from: 'Ada!~ada@home.example', target: 'bot', text: 'hello' };

/** The same behind a bouncer that shows its last lines to each connection, without their `msgid`. */
function behindBouncer(run: (at: { host: TestHost; bouncer: Bouncer }) => Promise<void>): () => Promise<void> {
  return async () => {
    await using bouncer = await new Bouncer({ replays: 'all', caps: ['batch', 'server-time', 'message-tags'] }).listen();
    const settings = descriptor.settings.parse({ host: '127.0.0.1', port: bouncer.port, tls: false, nick: 'bot' });
    const channel = await descriptor.create(settings, channelDeps({ name: 'irc', clock: quickClock() }));
    await using resources = new AsyncDisposableStack();
    resources.defer(() => channel.stop());
    const host = new TestHost();
    await channel.start(host, new AbortController().signal);
    await run({ host, bouncer });
    expect(bouncer.complaints).toEqual([]);
  };
}

const NO_FILES = 'a line carries no file, and what goes from client to client (DCC) needs an open port';
const NO_IDS = 'a line has no id that another could point at';
const SAID = 'what was said is said';

export const cases: CapabilityCases = {
  missing: ircMissing(),
  'text in': play(async ({ ada, received }) => {
    ada.say('PRIVMSG bot :hello — grüß dich');
    const message = {
      kind: 'message',
      text: 'hello — grüß dich',
      senderId: ada.id,
      senderName: 'Ada',
      chatId: `Ada!${ada.id}`,
      isGroup: false,
    };
    expect(await received()).toMatchObject(message);
  }),
  'text out': play(async ({ ada, send }) => {
    expect(await send({ text: '**first**\nsecond' })).toMatchObject({ kind: 'sent' });
    await until('it is seen', () => ada.lines.some((line) => line.endsWith('PRIVMSG Ada :second')));
    expect(ada.lines.filter((line) => line.includes('PRIVMSG')).map((line) => line.split(' :')[1])).toEqual(['first', 'second']);
  }),
  'reply out': play(async ({ ada, send }) => {
    await send({ chatId: '#help', text: 'of course', replyContext: { nick: 'Ada' } });
    await until('it is seen', () => ada.lines.some((line) => line.endsWith('PRIVMSG #help :Ada: of course')));
  }),
  'command in': play(async ({ ada, received }) => {
    ada.say('PRIVMSG bot :/help me');
    expect(await received()).toMatchObject({ text: '/help me' });
  }),
  'select menu': 'choices are typed; the text lists them',
  'command answers for one person': 'not built: the answer could be a message to the person',
  'assistant pane': 'the pane is a feature of Slack',
  shortcuts: 'clients have no actions that another one adds',
  'mention in a group': play(async ({ ada, host, received }) => {
    ada.say('PRIVMSG #help :Bot: what is this?');
    expect(await received()).toMatchObject({ text: 'what is this?', isGroup: true, mentionsBot: true, chatId: '#help' });
    ada.say('PRIVMSG #help :robots are not bothered');
    const [, other] = await until('both arrived', () => (host.accepted.length === 2 ? host.accepted : undefined));
    expect(other).toMatchObject({ mentionsBot: false, text: 'robots are not bothered' });
  }),
  'proof of a send': play(async ({ send }) => {
    expect(await send({ text: 'anybody?', chatId: 'nobody' })).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
    expect(await send({ text: 'and you?' })).toMatchObject({ kind: 'sent' });
  }),
  'photo in': NO_FILES,
  'photo out': NO_FILES,
  'voice in': NO_FILES,
  'voice out': NO_FILES,
  'audio in': NO_FILES,
  'audio out': NO_FILES,
  'document in': NO_FILES,
  'document out': NO_FILES,
  'album in': NO_FILES,
  'thread in': NO_IDS,
  'thread out': NO_IDS,
  'threads of its own': NO_IDS,
  'reply in': NO_IDS,
  'earlier messages': 'most servers keep no history, and none is asked for it',
  'reaction in': NO_IDS,
  'reaction out': NO_IDS,
  'edit in': SAID,
  'delete in': SAID,
  'edit out': SAID,
  typing: 'few networks pass on the tag for it',
  buttons: 'choices are typed; the text lists them',
  'catch-up after a disconnect': behindBouncer(async ({ host, bouncer }) => {
    const at = Date.now();
    bouncer.say({ ...SAID_LINE, at });
    await until('it arrived', () => host.accepted[0]);
    bouncer.cut();
    await until('it is gone', () => bouncer.connections === 0);
    bouncer.say({ ...SAID_LINE, text: 'missed', at: at + 1 });
    await until('it is caught up', () => host.accepted[1]);
    expect(host.accepted.map(({ text, timestamp }) => [text, timestamp])).toEqual([
      ['hello', at],
      ['missed', at + 1],
    ]);
  }),
  'second key': behindBouncer(async ({ host, bouncer }) => {
    bouncer.say({ ...SAID_LINE, at: Date.now(), msgid: 'm1' });
    await until('it arrived', () => host.accepted[0]);
    bouncer.cut();
    const [live, again] = await until('it is shown again', () => (host.offered.length === 2 ? host.offered : undefined));
    expect([live?.platformId, again?.secondaryId]).toEqual(['m1', live?.secondaryId]);
    expect(live?.secondaryId).toBeDefined();
  }),
};
