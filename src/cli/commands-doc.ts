import { COMMAND_LIST } from '../gateway/commands/index.ts';

/** Text of docs/commands.md: the same table that `/help` and the menus of platforms are made of. */
export function renderCommandsDoc(): string {
  const rows = COMMAND_LIST.map(({ name, aliases = [], args, summary }) => {
    const names = [name, ...aliases].map((one) => `\`/${one}\``).join(', ');
    return `| ${names} | ${args === undefined ? '' : cell(`\`${args}\``)} | ${cell(summary)} |`;
  });
  return [
    '# Commands of the chat',
    '',
    'What begins with `/` and is none of these goes to the agent. Generated from `src/gateway/commands` by `npm run generate`.',
    '',
    '| command | what may follow | what it does |',
    '|---|---|---|',
    ...rows,
    '',
    ...TEXT,
    '',
  ].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

const TEXT = [
  'All but `/model`, `/think` and `/compact` are answered at once, also while the agent works on something; these three take their turn.',
  'In a group, only the owner and the ids in `group_admins` of the channel may use those that change the conversation for',
  'all: `/new`, `/reset`, `/s`, `/back`, `/delete`, `/compact`, `/thinking on` and `off`, `/queue` and `/status` with a word.',
  '`/model` and `/think` are the owner’s there.',
  '',
  'A question of the agent shows how it is answered: `/allow CODE`, `/deny CODE` and `/answer CODE WORDS` ([questions.md](questions.md#answers)).',
  '',
  '## Topics',
  '',
  'A chat can have up to 50 topics beside itself. Each has a history, a directory of files and an order of its own, and they',
  'work side by side. `/new NAME` begins one, `/s NAME` goes there (`/s` alone, back to the chat itself), `/back` goes to where you',
  'were, and `/sessions` lists them, with buttons where the platform has some. A name has 1 to 50 characters, none of them `#`,',
  '`:` or `/`; letter case does not tell two of them apart. A thread of the platform is a conversation of its own and has no topics.',
  '',
  'What the agent says in a topic that is not active is held: the chat is told once, and going there shows all of it in order.',
  'At most 50 messages are kept for a topic; the last of them says that more came. Questions to you and the progress of sub-agents are',
  'not held, and name their topic.',
  '',
  '`/delete NAME` removes a topic with its history and what is held for it, and ends what is worked on there. A task and a',
  'sub-agent in the background go on in its files, and the chat is told their results; the answer says how many there are. So does a job',
  'of the topic that is at work just then. The files go with the last of them.',
  '',
  '## Starting afresh',
  '',
  '`/new` archives the history and carries over the last 10 messages, `/new --keep 0` none, `/reset` none and neither queue mode, model nor the',
  'level of thinking that were chosen. What is under way then goes on in the conversation that it began in: its answer comes, says',
  'so, and is no part of the new one. No yes that was given for the conversation holds any more, and its browser is closed.',
  '',
  '## Messages that come while it works',
  '',
  'The queue mode says what becomes of them: `gateway.queue_mode`, or `queue_mode` of a channel, or `/queue MODE` for one chat.',
  '',
  '| mode | while a turn runs | when a turn begins and more wait |',
  '|---|---|---|',
  '| `followup` (default) | they wait | one after the other |',
  '| `collect` | they wait | all that wait are one request, with their authors in a group |',
  '| `steer` | text is told to the turn under way, between its steps; files wait | after half a second only the newest counts |',
  '| `interrupt` | the turn ends there, with a mark below what it had shown | after half a second only the newest counts |',
  '| `speculative` (`spec`) | each is answered at once beside it, up to five; files and commands wait | one after the other |',
  '',
  "A message steers, interrupts or supersedes only work of the person who wrote it; the owner interrupts every person's. `collect`",
  'joins people who may do the same and for whom the config has no tools, model or spending limit of their own. An edit or delete of a',
  'message that waits counts until its turn begins. A person who stops their own work, or is blocked, ends no words of others that were',
  'joined to it: they are answered by themselves, unless a model had answered the request. What a tool did that was under way',
  'when a turn was interrupted is told to the next turn as unknown; a sub-agent in the background goes on, and its result is told. In',
  '`speculative`, each answer knows only what was said before the turn it runs beside: a short “yes” or “2” is taken as a question of',
  'its own. `/why` names what was superseded, steered or merged. With a hook for `message_in`, `steer` acts as `followup`',
  '([hooks](hooks.md)).',
  '',
  '`debounce_ms` of a channel gathers messages of one person that follow each other so quickly into one request. With',
  '`gateway.auto_escalation` a chat whose answers take three times as long as usual, three times in a row, is switched to',
  '`speculative` (and a router over several models to `hedge`) until an answer is quick again, or none has come there for half an hour.',
  '',
  '## What is shown with an answer',
  '',
  'With `gateway.annotate` each answer ends with a line such as _provider/model · 1.2k in · 350 out · 12s_. With `gateway.show_thinking`',
  'people may have the thoughts of the model shown above it (`/thinking on`, cut to 1,000 characters). Markdown files that the tool',
  '`write_file` made in the turn and that were not there before come with the answer, at most three.',
  '',
  'Where the channel has `status_line`, `/status` sets what the line says: `greeting TEXT` (or `off`), `provider on` or `off`, `metrics on` or',
  '`off`, `add` and `remove` with a word of your own, `duration` with the seconds of each word, `locale` with a language, `words` to see',
  'them, and `reset`.',
];
