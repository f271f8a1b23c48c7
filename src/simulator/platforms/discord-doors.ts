import { setTimeout as sleep } from 'node:timers/promises';
import { type DiscordProxy, startDiscordProxy } from '../discord/proxy.ts';
import { Deliveries } from './deliveries.ts';
import { DiscordPlatform, FIRST_PERSON } from './discord.ts';
import type { FaultKind, Platform, SeenMessage } from './platform.ts';

/**
 * Channels of the server, one for each person: what others said there before would come along with a
 * question.
 */
const FIRST_ROOM = 701_000_000_000_000_000n;
/** Threads that people opened. */
const FIRST_THREAD = 801_000_000_000_000_000n;
/** Where people open posts, each a conversation of its own. */
const FORUM = '901000000000000000';
const TITLE = 'Something to ask';
const PLACES_PER_DAEMON = 1_000n;
/** They had an answer before, and go on in its thread. */
const FOLLOWER = 1;
const GREETING = 'hello';
/** Words above the menu. */
const MENU = 'Which one?';
/** The first start answers the greeting well within this. */
const GREETED_MS = 20_000;
/**
 * "You must send an initial response within 3 seconds of receiving the event"
 * (https://docs.discord.com/developers/interactions/receiving-and-responding).
 */
const ACKNOWLEDGE_MS = 3_000;
/** Epoch of the platform's ids, ms (https://docs.discord.com/developers/reference#snowflakes). */
const EPOCH_MS = 1_420_070_400_000;

/** How a person asks, by their number in turn. */
const DOORS = ['channel', 'thread', 'post', 'command', 'menu', 'thread'] as const;

/** A command that a person gave or a choice they made, and the session it was pushed to. */
interface Press {
  readonly person: number;
  readonly text: string;
  readonly isCommand: boolean;
  readonly token: string;
  session?: string;
}

/** Discord for people who ask by other ways than a message in a private chat. */
export class DiscordDoors extends DiscordPlatform {
  readonly greetings = 1;
  readonly doors = DOORS.length;
  /** What is pressed comes at once and once, so that it is neither doubled nor held back. */
  override readonly faults: readonly FaultKind[] = ['limit', 'lose-reply', 'duplicate', 'slow', 'disconnect'];
  readonly #proxy: DiscordProxy;
  readonly #messages: Deliveries<{ readonly id: string }>;
  /** Threads and private chats -> the person who is answered there. */
  readonly #places = new Map<string, number>();
  #presses: Press[] = [];
  /** Id of the greeting, and of the thread that its answer opened. */
  #greeted: string | undefined;
  #isGreetingDue = false;
  #session: string | undefined;
  #began = 0;
  #daemons = 0n;
  #ids = 0;

  constructor(proxy: DiscordProxy) {
    super(proxy);
    this.#proxy = proxy;
    proxy.interactions.acknowledgeMs = ACKNOWLEDGE_MS;
    proxy.forums.open(FORUM, proxy.peer.guildId);
    this.#messages = new Deliveries(({ id }) => proxy.push(id));
    proxy.gateway.onReady = (session) => void this.#release(session);
  }

  override get channel(): DiscordPlatform['channel'] {
    const { settings, ...entry } = super.channel;
    return { ...entry, allowed_groups: ['*'], settings: { ...settings, auto_threads: true } };
  }

  override async begin(): Promise<void> {
    await super.begin();
    this.#messages.clear();
    this.#places.clear();
    this.#presses = [];
    this.#greeted = undefined;
    this.#isGreetingDue = true;
    this.#session = undefined;
    this.#began = this.#proxy.calls.length;
    this.#daemons += 1n;
  }

  override async write(person: number, text: string): Promise<void> {
    const mention = `<@${this.#proxy.peer.botId}> ${text}`;
    const door = DOORS[person % DOORS.length];
    if (person === FOLLOWER) await this.#messages.pass({ id: await this.#say(person, text, await this.#thread()) });
    else if (door === 'menu' || door === 'command') await this.#interact(person, text, door === 'command');
    else if (door === 'thread') {
      const thread = this.#place(FIRST_THREAD, person);
      this.#places.set(thread, person);
      await this.#messages.pass({ id: await this.#say(person, mention, thread) });
    } else {
      // A post, and the thread that an answer opens, have the id of the message.
      const id = door === 'post' ? await this.#post(person, mention) : await this.#say(person, mention);
      this.#places.set(id, person);
      await this.#messages.pass({ id });
    }
  }

  override async seen(): Promise<readonly SeenMessage[]> {
    const seen = await super.seen();
    const greeting = seen.findIndex(({ person }) => person === FOLLOWER);
    return seen.filter((_message, index) => index !== greeting);
  }

  override personIn(chat: string): number | undefined {
    return this.#places.get(chat);
  }

  override commander(token: string): number | undefined {
    return this.#presses.find((press) => press.token === token)?.person;
  }

  /** Commands and choices that no session had yet. */
  override async waiting(): Promise<number> {
    return this.#presses.filter(({ session }) => session === undefined).length;
  }

  /** Pushed to a session that is over, and the bot shows no sign of it. */
  async notOffered(): Promise<readonly string[]> {
    const calls = this.#proxy.calls.slice(this.#began);
    const gone = this.#presses.filter(({ person, token, session }) => {
      const place = `POST /channels/${this.chat(person)}/`;
      if (session === undefined || session === this.#session) return false;
      return !calls.some(({ call }) => call.startsWith(place) || call.includes(token));
    });
    return gone.map(({ text }) => text);
  }

  override fault(kind: FaultKind, times: number): void {
    if (kind === 'duplicate') this.#messages.duplicate(times);
    else super.fault(kind, times);
  }

  #place(first: bigint, person: number): string {
    return String(first + this.#daemons * PLACES_PER_DAEMON + BigInt(person));
  }

  /** In the person's channel, or in a thread of it. Resolves to the message's id; the bot is not told. */
  #say(person: number, content: string, thread?: string): Promise<string> {
    const { guildId } = this.#proxy.peer;
    const room = this.#place(FIRST_ROOM, person);
    const place = thread === undefined ? { channelId: room } : { channelId: thread, parentChannelId: room };
    return this.#proxy.write({ guildId, ...place, ...senderOf(person), content });
  }

  #post(person: number, content: string): Promise<string> {
    return this.#proxy.forums.post({ forum: FORUM, title: TITLE, ...senderOf(person), content });
  }

  /** The thread that the answer to the greeting opened, once it stands there. */
  async #thread(): Promise<string> {
    const end = performance.now() + GREETED_MS;
    while (performance.now() < end) {
      const thread = this.#greeted;
      const answer = `POST /channels/${thread}/messages`;
      if (thread !== undefined && this.#proxy.calls.some(({ call, accepted }) => accepted && call === answer)) return thread;
      await sleep(20);
    }
    throw new Error('the greeting was not answered in a thread');
  }

  /** In the private chat with the bot, where it showed a menu before. */
  async #interact(person: number, text: string, isCommand: boolean): Promise<void> {
    this.#places.set(this.chat(person), person);
    const { botId } = this.#proxy.peer;
    await this.#proxy.write({ channelId: this.chat(person), senderId: botId, senderName: 'gatehouse', content: MENU });
    this.#ids += 1;
    const press: Press = { person, text, isCommand, token: `token-${this.#ids}` };
    this.#presses.push(press);
    if (this.#session !== undefined && this.#proxy.gateway.connections > 0) this.#push(press, this.#session);
  }

  /**
   * https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-interaction-structure.
   * A session that goes on is given it again: Resume is "used to replay missed events", and none is excepted
   * (https://docs.discord.com/developers/events/gateway-events#resume; of interactions unverified).
   */
  #push(press: Press, session: string): void {
    const { person, text, isCommand, token } = press;
    press.session = session;
    const id = String((BigInt(Date.now() - EPOCH_MS) << 22n) + BigInt(person));
    const { botId } = this.#proxy.peer;
    const user = { id: String(FIRST_PERSON + BigInt(person)), username: `person${person}` };
    const base = { id, token, application_id: botId, version: 1, channel_id: this.chat(person), user };
    const asked = isCommand
      ? { type: 2, data: { type: 1, name: 'ask', options: [{ type: 3, name: 'args', value: text }] } }
      : {
          ...{ type: 3, message: { id, author: { id: botId, bot: true }, content: MENU } },
          data: { component_type: 3, custom_id: 'gh:menu', values: [`gh0:${text}`] },
        };
    this.#proxy.gateway.dispatch('INTERACTION_CREATE', { ...base, ...asked });
  }

  async #release(session: string): Promise<void> {
    this.#session = session;
    for (const press of this.#presses) if (press.session === undefined) this.#push(press, session);
    if (!this.#isGreetingDue) return;
    this.#isGreetingDue = false;
    const id = await this.#say(FOLLOWER, `<@${this.#proxy.peer.botId}> ${GREETING}`);
    this.#places.set(id, FOLLOWER);
    this.#greeted = id;
    this.#proxy.push(id);
  }
}

function senderOf(person: number): { readonly senderId: string; readonly senderName: string } {
  return { senderId: String(FIRST_PERSON + BigInt(person)), senderName: `Person ${person}` };
}

/**
 * In turn: a mention in a channel, whose answer opens a thread; a mention in a thread of people's own; a post
 * in a forum; a command for the agent, and a choice in a menu, in a private chat. One person writes in the
 * thread that the answer to a greeting opened, without naming the bot. Commands are given and choices made
 * while the bot is there; they come again only with their session.
 */
export async function startDiscordDoors(): Promise<Platform> {
  return new DiscordDoors(await startDiscordProxy());
}
