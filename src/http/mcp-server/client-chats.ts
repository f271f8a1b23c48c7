// the chats that the config names for a client -> listed, read, or written to through the outbox
import { z } from 'zod';
import { UNTRUSTED } from '../../core/authority.ts';
import type { Channel } from '../../core/channel.ts';
import { chatKey, inTopic, partKey, sentForId, sessionKey } from '../../core/ids.ts';
import type { Journal } from '../../core/journal.ts';
import { clientLane, clientPrincipal, clientSendKey, clientSession } from '../../core/mcp-client.ts';
import type { Address, AnswerTarget, ChatRef } from '../../core/message.ts';
import type { NewRun } from '../../core/new-run.ts';
import type { NewPart, OutboxState } from '../../core/outbox.ts';
import type { Clock } from '../../core/ports.ts';
import { programHead } from '../../core/relayed.ts';
import type { SessionMessage } from '../../core/session.ts';
import { visibleText } from '../../lib/visible-text.ts';
import type { DailyCap } from '../../runs/daily-cap.ts';
import { type LetInOptions, readerOf } from '../../runs/let-in.ts';
import type { Transcripts } from '../../runs/transcripts.ts';
import { CallRefusal, type ClientAnswer, type ClientCall, type ClientTool, clientTool, named } from './client-call.ts';

const MOST_LINES = 100;
/** Longest line of a conversation that is handed out. UTF-16 units. */
const LINE_CHARS = 4_000;
/** Lines of tools stand between those of people and agent. */
const READ_FOR_ONE = 6;
const MOST_CHARS = 8_000;

export interface ClientChatsOptions extends LetInOptions {
  readonly journal: Pick<Journal, 'commit' | 'prompted' | 'part' | 'chats'>;
  readonly transcripts: Pick<Transcripts, 'load'>;
  /** By name; undefined = there is no such channel now. */
  readonly channel: (name: string) => Pick<Channel, 'account'> | undefined;
  /** As `planBelow`. */
  readonly parts: (target: AnswerTarget, text: string, head: string) => readonly NewPart[];
  /** The one of all that write to people on the wish of others. */
  readonly cap: DailyCap;
  readonly clock: Pick<Clock, 'now'>;
}

const chat = named(300).describe('As chats gives it.');
const readSchema = z.strictObject({
  chat,
  last: z.int().min(1).max(MOST_LINES).default(20).describe('How many of the newest lines.'),
});
const sendSchema = z.strictObject({
  chat,
  text: z.string().min(1).max(MOST_CHARS).describe('Markdown.'),
  key: named(128).optional().describe('Of your choice: words with a key that was used before are not sent again.'),
});

/** Chats of clients. One that the config does not name is answered like one that is not there. */
export class ClientChats {
  readonly #options: ClientChatsOptions;

  /** For a client whose config names a chat. */
  readonly readers: readonly ClientTool[] = [
    clientTool(
      { name: 'chats', description: 'The chats that you may read and write to.', schema: z.strictObject({}) },
      (_, call) => this.#list(call),
    ),
    clientTool(
      { name: 'read_chat', description: 'The newest lines of a chat between people and the agent.', schema: readSchema },
      ({ chat, last }, call) => this.#read(chat, last, call),
    ),
  ];
  /** For one that may change something as well. */
  readonly writer: ClientTool = clientTool(
    {
      name: 'send',
      description: 'Send words to the people of a chat. They see that these are yours. The agent does not answer them.',
      schema: sendSchema,
    },
    (args, call) => this.#send(args, call),
  );

  constructor(options: ClientChatsOptions) {
    this.#options = options;
  }

  /** What became of words that were sent; undefined = the id is not that of any. */
  async sent(id: string, { client }: ClientCall): Promise<ClientAnswer | undefined> {
    if (!id.startsWith(clientSendKey(client, ''))) return undefined;
    const part = await this.#options.journal.part(partKey(sentForId(id), 0));
    if (!part) throw new CallRefusal(`nothing is known of ${JSON.stringify(id)} any more`);
    return { text: FATES[part.state], id, ...(part.state === 'DEAD' || part.state === 'EXPIRED' ? { isError: true } : {}) };
  }

  async #list({ settings }: ClientCall): Promise<ClientAnswer> {
    const lines = settings.chats.map(async (one) => {
      const known = this.#refOf(one);
      const title = known && (await this.#options.journal.chats.of(chatKey(known)))?.title;
      return `${nameOf(one)}${title === undefined ? '' : ` (${title})`}${known ? '' : ': its channel is not there now'}`;
    });
    return { text: (await Promise.all(lines)).join('\n') };
  }

  async #read(name: string, last: number, call: ClientCall): Promise<ClientAnswer> {
    const { transcripts, journal } = this.#options;
    const ref = this.#find(name, call);
    const active = (await journal.chats.of(chatKey(ref)))?.active ?? '';
    const session = inTopic(sessionKey(ref, await journal.chats.firstAccount(ref.channel)), active);
    const lines = (await transcripts.load(session, last * READ_FOR_ONE)).filter(isSaid).slice(-last);
    if (lines.length === 0) return { text: 'Nothing was said there yet.' };
    return { text: lines.map(lineOf).join('\n') };
  }

  async #send({ chat: name, text, key }: z.output<typeof sendSchema>, call: ClientCall): Promise<ClientAnswer> {
    const { journal, cap } = this.#options;
    const { client } = call;
    const ref = this.#find(name, call);
    const id = clientSendKey(client, key ?? call.key);
    const said = `To ${name}: ${visibleText(text)}`;
    const before = await journal.prompted.of(id);
    if (before && before.text !== said)
      throw new CallRefusal(`the key ${JSON.stringify(key)} was used for other words: choose a new one for each`);
    if (before) return { text: 'These words were taken before, and are not sent again.', id, state: 'taken' };
    const known = await journal.chats.of(chatKey(ref));
    if (!known) throw new CallRefusal(`no person has written to the agent in ${name} yet: it does not write there first`);
    const reader = await readerOf(known, this.#options);
    if (reader === undefined) throw new CallRefusal(`${name} is not let in any more`);
    const address = { ...known.address, ...ref };
    const run = this.#runOf({ id, said, address }, call);
    const planned = this.#partsOf({ id, address, reader, name, text }, client);
    const full = await cap.within([reader], async () => {
      // One commit: the record says that it was done exactly when the words are to be sent.
      await journal.commit([
        { kind: 'own-call', call: { run, tool: 'send', effect: 'outside' } },
        ...planned.map((part) => ({ kind: 'part', part }) as const),
      ]);
    });
    if (full) throw new CallRefusal(full.reason);
    return {
      text: 'Taken: it is sent as soon as the channel can. Ask for the result to see whether it was.',
      id,
      state: 'taken',
    };
  }

  /** They count for their reader; no chat is told when they cannot be delivered, the client asks for that. */
  #partsOf(
    words: {
      readonly id: string;
      readonly address: Address;
      readonly reader: string;
      readonly name: string;
      readonly text: string;
    },
    client: string,
  ): readonly NewPart[] {
    const { id, address, reader, name, text } = words;
    const planned = this.#options.parts({ id: sentForId(id), ...address }, visibleText(text), programHead(client));
    const sentFor = { readers: [reader], title: name };
    return planned.map((row) => ({ ...row, part: { ...row.part, messageId: id, sentFor } }));
  }

  #runOf(
    { id, said, address }: { readonly id: string; readonly said: string; readonly address: Address },
    { client, settings }: ClientCall,
  ): NewRun {
    return {
      key: id,
      source: { kind: 'api', client },
      profile: 'session',
      lane: clientLane(client),
      session: clientSession(client),
      prompt: { text: said, media: [], at: new Date(this.#options.clock.now()).toISOString() },
      replyTo: address,
      authority: {
        principal: clientPrincipal(client),
        role: 'member',
        mode: settings.mode,
        policies: [],
        home: chatKey(address),
      },
      taint: UNTRUSTED,
    };
  }

  #find(name: string, { settings }: ClientCall): ChatRef {
    const named = settings.chats.find((one) => nameOf(one) === name);
    if (!named) throw new CallRefusal(`${JSON.stringify(name)} is no chat of yours: see the tool chats`);
    const ref = this.#refOf(named);
    if (!ref) throw new CallRefusal(`the channel of ${name} is not there now`);
    return ref;
  }

  #refOf({ channel, chat_id: chatId }: ClientCall['settings']['chats'][number]): ChatRef | undefined {
    const account = this.#options.channel(channel)?.account;
    return account === undefined ? undefined : { channel, account, chatId };
  }
}

/** No name of a channel has a colon. */
function nameOf({ channel, chat_id: chatId }: ClientCall['settings']['chats'][number]): string {
  return `${channel}:${chatId}`;
}

function isSaid({ role, content }: SessionMessage): boolean {
  return (role === 'user' || role === 'assistant') && content.trim() !== '';
}

/** Further lines are set in, so that none of them passes for the beginning of another. */
function lineOf({ role, content, timestamp }: SessionMessage): string {
  const text = content.length > LINE_CHARS ? `${content.slice(0, LINE_CHARS).toWellFormed()}…` : content;
  return `${timestamp} ${role === 'user' ? 'person' : 'agent'}: ${visibleText(text).replaceAll('\n', '\n  ')}`;
}

const FATES: Readonly<Record<OutboxState, string>> = {
  PENDING: 'It waits to be sent.',
  SENDING: 'It is being sent.',
  SENT: 'It was sent.',
  UNKNOWN: 'It may have arrived, or not.',
  DEAD: 'It could not be delivered.',
  EXPIRED: 'It was too old to be sent.',
};
