/** What goes on in a conversation, and what the line says that shows it (spec A6, D3). */
import type { StatusSettings } from '../../core/chats.ts';
import { inTopic } from '../../core/ids.ts';
import { oneLine } from '../../lib/one-line.ts';
import { plainName } from '../../lib/plain-name.ts';
import { STATUS_WORDS, statusWords, WORD_SECS } from '../../lib/status-words.ts';
import type { CommandSpec, Prompted, PromptPorts, StatusCommand } from './command.ts';
import { type Conversation, GROUP_REFUSAL } from './conversation.ts';

const MOST_WORDS = 20;
const WORD_CHARS = 40;
const MOST_SECS = 60;

const SETTINGS = ['greeting', 'provider', 'metrics', 'words', 'add', 'remove', 'duration', 'locale', 'reset'];

export const statusCommand: CommandSpec = {
  ...{ name: 'status', args: `[${SETTINGS.join('|')}]`, isPrivate: true },
  summary: 'what goes on here; with a word, what the line says that shows it',
  read(words) {
    const [what, ...rest] = words;
    if (what === undefined) return { kind: 'status' };
    const wanted = what.toLowerCase();
    return SETTINGS.includes(wanted) ? { kind: 'status', what: wanted, words: rest.join(' ') } : undefined;
  },
};

export async function answerStatus(command: StatusCommand, at: Conversation, ports: PromptPorts): Promise<Prompted> {
  const { message } = at;
  const say = (outcome: string, text: string): Prompted => ({ outcome, parts: ports.answer(message, text) });
  if (command.what === undefined) return say('status', await whatGoesOn(at, ports));
  if (!ports.mayChange(message)) return say('not-permitted', GROUP_REFUSAL);
  const own = at.settings.status ?? {};
  const changed = change(command.what, command.words ?? '', own);
  if (typeof changed === 'string') return say('status', changed);
  const isShown = ports.statusLine(message.channel);
  const note = isShown ? '' : '\nThe line is not shown on this channel: the operator switches it on (status_line).';
  return { ...say('status', `${described(changed ?? {})}${note}`), settings: { status: changed } };
}

async function whatGoesOn({ message, topic, topics, session, lane }: Conversation, ports: PromptPorts): Promise<string> {
  const { active, parked } = await ports.work(inTopic(lane, topic), session);
  const { length: others } = topics;
  const where = topic === '' ? 'the chat itself' : `topic “${plainName(topic)}”`;
  const waits = parked === 0 ? '' : `; ${parked} ${parked === 1 ? 'request waits' : 'requests wait'} for something`;
  return [
    await ports.modelLine(message, session),
    `Conversation: ${where}${others === 0 ? '' : `; ${others} ${others === 1 ? 'topic' : 'topics'} in all, see /sessions`}.`,
    active === 0
      ? `Nothing is being worked on${waits}.`
      : `${active} ${active === 1 ? 'message is' : 'messages are'} being worked on or waiting${waits}.`,
  ].join('\n');
}

/** The new settings; null = as built in. A text = nothing changes, and this is said. */
function change(what: string, words: string, own: StatusSettings): StatusSettings | null | string {
  const { words: list = [] } = own;
  switch (what) {
    case 'reset':
      return null;
    case 'words':
      return described(own);
    case 'greeting':
      return words === '' || words === 'off' ? ungreeted(own) : { ...own, greeting: oneLine(words, WORD_CHARS) };
    case 'provider':
    case 'metrics':
      return words === 'on' || words === 'off' ? { ...own, [what]: words === 'on' } : `Say /status ${what} on, or off.`;
    case 'add':
      if (words === '') return 'Say /status add with the word.';
      if (list.length >= MOST_WORDS) return `There are ${MOST_WORDS} words, which is the most. /status remove takes one away.`;
      return { ...own, words: [...new Set([...list, oneLine(words, WORD_CHARS)])] };
    case 'remove':
      if (!list.includes(words)) return `There is no such word of your own. ${described(own)}`;
      return { ...own, words: list.filter((word) => word !== words) };
    case 'duration': {
      const secs = Number(words);
      return Number.isInteger(secs) && secs >= 1 && secs <= MOST_SECS
        ? { ...own, wordSecs: secs }
        : `Say /status duration with seconds from 1 to ${MOST_SECS}.`;
    }
    default: {
      const locale = words.toLowerCase();
      const known = Object.keys(STATUS_WORDS);
      return known.includes(locale) ? { ...own, locale } : `There are words in: ${known.join(', ')}.`;
    }
  }
}

function ungreeted({ greeting: _, ...rest }: StatusSettings): StatusSettings {
  return rest;
}

function described(settings: StatusSettings): string {
  const { greeting, provider = false, metrics = true, wordSecs = WORD_SECS } = settings;
  const own = statusWords(settings);
  const greeted = greeting === undefined ? '' : `first “${plainName(greeting)}”, `;
  const shown = [...(provider ? ['the model'] : []), ...(metrics ? ['tokens'] : [])];
  const more = shown.length === 0 ? '' : ` With ${shown.join(' and ')}.`;
  return `The status line: ${greeted}${own.map(plainName).join(', ')}, ${wordSecs} s each.${more}`;
}
