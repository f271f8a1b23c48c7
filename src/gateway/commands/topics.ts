/** Topics of a chat (spec A3, A6): each has a history of its own, and they run side by side. */
import { MOST_TOPICS } from '../../core/chats.ts';
import { inTopic } from '../../core/ids.ts';
import type { Choice } from '../../core/message.ts';
import type { SessionMessage } from '../../core/session.ts';
import { oneLine } from '../../lib/one-line.ts';
import { plainName } from '../../lib/plain-name.ts';
import type { CommandSpec, Prompted, PromptPorts, TopicCommand } from './command.ts';
import { type Conversation, GROUP_REFUSAL } from './conversation.ts';
import { pickerOf, topicPicked } from './picker.ts';

const MOST_CHARS = 50;
/** What of a name is quoted when it is refused or not known. */
const QUOTE_CHARS = 60;
const LAST_MESSAGES = 2;
const BUTTONS_PER_ROW = 2;
const LAST_CHARS = 100;
/** What people may call the chat itself. */
const DEFAULT = 'default';

export const switchCommand: CommandSpec = {
  ...{ name: 's', aliases: ['switch'], args: '[TOPIC]' },
  summary: 'go to a topic, and see what came there meanwhile; without a name, back to the chat itself',
  read: (words) => ({ kind: 'switch', ...(words.length > 0 ? { name: words.join(' ') } : {}) }),
};

export const sessionsCommand: CommandSpec = {
  name: 'sessions',
  summary: 'the topics of this chat',
  read: (words) => (words.length === 0 ? { kind: 'sessions' } : undefined),
};

export const backCommand: CommandSpec = {
  ...{ name: 'back', aliases: ['b'], summary: 'go to the topic before this one' },
  read: (words) => (words.length === 0 ? { kind: 'back' } : undefined),
};

export const deleteCommand: CommandSpec = {
  ...{ name: 'delete', args: 'TOPIC', summary: 'delete a topic with its history, and end what is worked on there' },
  read: (words) => (words.length > 0 ? { kind: 'delete', name: words.join(' ') } : undefined),
};

/** What a name has wrong; undefined = it may be used. Spec A1. */
function wrongName(name: string): string | undefined {
  if ([...name].length > MOST_CHARS) return `A name has at most ${MOST_CHARS} characters`;
  if (/[#:/]/.test(name)) return 'A name cannot contain “#”, “:” or “/”';
  if (!name.isWellFormed() || UNSEEN.test(name)) return 'A name cannot contain characters that are not seen';
  return lookOf(name).trim() === '' ? 'A name needs at least one character' : undefined;
}

/** Emoji need selectors: they are allowed, and tell no two names apart. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u2800]|(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}/u;

function lookOf(name: string): string {
  return name
    .normalize('NFC')
    .replace(/[\ufe0e\ufe0f]/g, '')
    .toLowerCase();
}

/** Letter case tells no two topics apart: some file systems do not either. */
function find(name: string, topics: readonly string[]): string | undefined {
  const wanted = lookOf(name);
  if (wanted === DEFAULT) return '';
  return topics.find((topic) => topic === name) ?? topics.find((topic) => lookOf(topic) === wanted);
}

/** As `find`; of a number that is no name, the topic with this number in the list. */
function findListed(name: string, topics: readonly string[]): string | undefined {
  const listed = /^\d{1,3}$/.test(name) ? ['', ...topics][Number(name) - 1] : undefined;
  return find(name, topics) ?? listed;
}

const CHANGES: readonly TopicCommand['kind'][] = ['topic', 'switch', 'pick', 'back', 'delete'];

export async function answerTopic(command: TopicCommand, at: Conversation, ports: PromptPorts): Promise<Prompted> {
  const { message } = at;
  const say = (outcome: string, text: string): Prompted => ({ outcome, parts: ports.answer(message, text) });
  if (message.threadId !== undefined)
    return say('no-topics', 'A thread is a conversation of its own. Topics are for the chat outside its threads.');
  if (CHANGES.includes(command.kind) && !ports.mayChange(message)) return say('not-permitted', GROUP_REFUSAL);
  switch (command.kind) {
    case 'topic':
      return await startTopic(command.name, at, ports, say);
    case 'switch': {
      const to = command.name === undefined ? '' : findListed(command.name, at.topics);
      return to === undefined ? say('no-topic', unknownText(command.name ?? '')) : await switchTo(to, at, ports);
    }
    case 'pick': {
      const to = topicPicked(command.value, at.topics);
      return to === undefined
        ? say('no-topic', 'That topic is gone. /sessions lists those that there are.')
        : await pick(to, at, ports);
    }
    case 'sessions':
      return await listTopics(at, ports);
    case 'back':
      return at.previous === at.topic
        ? say('back', 'There is no topic before this one.')
        : await switchTo(at.previous, at, ports);
    case 'delete':
      return deleteTopic(command.name, at, say);
  }
}

type Say = (outcome: string, text: string) => Prompted;

function quoted(topic: string): string {
  return `“${plainName(oneLine(topic, QUOTE_CHARS))}”`;
}

function nameOf(topic: string): string {
  return topic === '' ? 'the chat itself' : `topic ${quoted(topic)}`;
}

function unknownText(name: string): string {
  return `There is no topic ${quoted(name)}. /sessions lists those that there are, and /new with a name makes one.`;
}

async function startTopic(given: string, at: Conversation, ports: PromptPorts, say: Say): Promise<Prompted> {
  const name = given.normalize('NFC');
  const known = find(name, at.topics);
  if (known !== undefined) return await switchTo(known, at, ports);
  const wrong = wrongName(name);
  if (wrong !== undefined) return say('bad-topic', `${wrong}. No topic ${quoted(name)} was made.`);
  if (at.topics.length >= MOST_TOPICS)
    return say('too-many-topics', `This chat has ${MOST_TOPICS} topics, which is the most. /delete one of them first.`);
  return {
    ...say('topic', `Topic ${quoted(name)} begins here. /s goes back to the chat itself, /back to where you were.`),
    topic: { to: name },
  };
}

async function switchTo(to: string, at: Conversation, ports: PromptPorts): Promise<Prompted> {
  return { outcome: 'switch', parts: ports.answer(at.message, await switchText(to, at, ports)), topic: { to } };
}

async function switchText(to: string, at: Conversation, { transcripts }: PromptPorts): Promise<string> {
  const lines = await transcripts.load(inTopic(at.base, to), LAST_MESSAGES * 10);
  const said = lines.filter(({ role, content }) => (role === 'user' || role === 'assistant') && content.trim() !== '');
  const head = `${to === at.topic ? 'You are in' : 'Now in'} ${nameOf(to)}.`;
  return [head, ...said.slice(-LAST_MESSAGES).map(lastLine)].join('\n');
}

function lastLine({ role, content }: SessionMessage): string {
  return `> ${role === 'user' ? 'You' : 'Assistant'}: ${plainName(oneLine(content, LAST_CHARS))}`;
}

/** The list changes where it stands, where the channel can; what came meanwhile stands below. */
async function pick(to: string, at: Conversation, ports: PromptPorts): Promise<Prompted> {
  const { message } = at;
  const { picker } = at.settings;
  const list = await listed({ ...at, topic: to }, ports);
  const inPlace = list.parts.map(({ part, ...row }, n) => ({
    ...row,
    part: { ...part, ...(n === 0 && picker !== undefined && list.choices ? { edits: picker } : {}) },
  }));
  const said = ports.answer(message, await switchText(to, at, ports)).map(({ part, ...row }) => ({
    ...row,
    part: { ...part, key: `${message.id}#s${part.ordinal}` },
  }));
  return { outcome: 'switch', parts: [...inPlace, ...said], topic: { to }, ...pickerSetting(list) };
}

async function listTopics(at: Conversation, ports: PromptPorts): Promise<Prompted> {
  const { parts, choices } = await listed(at, ports);
  return { outcome: 'sessions', parts, ...pickerSetting({ parts, choices }) };
}

interface Listed {
  readonly parts: Prompted['parts'];
  readonly choices: readonly Choice[] | undefined;
}

function pickerSetting({ parts, choices }: Listed): Pick<Prompted, 'settings'> {
  const last = parts.at(-1)?.part;
  return choices && last?.choices ? { settings: { picker: last.key } } : {};
}

async function listed({ message, base, topic, topics }: Conversation, ports: PromptPorts): Promise<Listed> {
  if (topics.length === 0) {
    const text = 'This chat has no topics yet. /new with a name begins one: it has a history of its own.';
    return { parts: ports.answer(message, text), choices: undefined };
  }
  const titles = await Promise.all(
    ['', ...topics].map(async (name) => ({ name, title: await ports.transcripts.title(inTopic(base, name)) })),
  );
  const lines = titles.map(({ name, title }, n) => {
    const label = plainName(name === '' ? DEFAULT : name);
    return `${n + 1}. ${name === topic ? `>> ${label} <<` : label}${title ? ` – ${plainName(title)}` : ''}`;
  });
  const most = ports.buttons(message.channel);
  const hint = '/s with a name or a number goes there.';
  if (most === 0) return { parts: ports.answer(message, [...lines, '', hint].join('\n')), choices: undefined };
  const choices = pickerOf(['', ...topics], topic).slice(0, most);
  // Those that have no button are in the list all the same.
  const text = [...lines, ...(choices.length < lines.length ? ['', hint] : [])].join('\n');
  const parts = ports.answer(message, text, choices).map(({ part, ...row }) => ({
    ...row,
    part: part.choices ? { ...part, perRow: BUTTONS_PER_ROW } : part,
  }));
  return { parts, choices };
}

function goesOnText(name: string, count: number): string {
  const what =
    count === 1
      ? '1 task or sub-agent in the background goes on: its result comes here, and the files of the topic are removed when it ends.'
      : `${count} tasks and sub-agents in the background go on: their results come here, and the files of the topic are removed with the last of them.`;
  return `Topic ${quoted(name)} was deleted, with its history. ${what} \`/stop\` ends this work too.`;
}

function deleteTopic(given: string, { topic, topics }: Conversation, say: Say): Prompted {
  const name = findListed(given, topics);
  if (name === undefined) return say('no-topic', unknownText(given));
  if (name === '') return say('active-topic', 'The chat itself cannot be deleted. /reset empties it.');
  if (name === topic) return say('active-topic', `You are in topic ${quoted(name)}. Go to another one first: /s, or /back.`);
  return {
    ...say('delete', `Topic ${quoted(name)} was deleted. What was worked on there has ended, and what was kept for it is gone.`),
    topic: { gone: name, parts: (goingOn) => say('delete', goesOnText(name, goingOn)).parts },
  };
}
