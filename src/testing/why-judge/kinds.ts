/**
 * What the script does to a message, and what therefore has to be said of it: never what our code thinks of
 * it.
 */
import { shortHash } from '../../core/ids.ts';
import { type Job, jobRunKey } from '../../core/job.ts';
import type { TelegramServer } from '../../simulator/telegram/server.ts';
import { job } from '../jobs.ts';

/** What the script knows of one message. */
export interface Expected {
  readonly key: string;
  readonly kind: string;
  /** Of the verdict. A function: the script learns only from what the platform showed which of two it is. */
  readonly says: RegExp | (() => RegExp);
  readonly configKey: string | null;
  /** Of the verdict once the daemon is gone, where the message is not over then, or its row is dropped. */
  readonly saysLater?: RegExp;
  /** A chat that is owed an answer by the platform's record. */
  readonly chat?: number;
  /** What the script does to it once all is at rest, and before it is judged. */
  readonly afterwards?: () => void;
}

export interface Scene {
  readonly platform: TelegramServer;
  readonly canary: string;
}

/** Chats and people of one message are its own. */
type Kind = (scene: Scene, n: number) => readonly Expected[];

const ALLOWED = 10_000;
const STRANGER = 800_000;
const GROUP = -100_000_000;
const SENDERS = 'gateway.channels[].allowed_senders';

/** Senders whom the config has to name, of a play with so many messages. */
export function allowedIds(messages: number): readonly string[] {
  return Array.from({ length: messages }, (_, n) => String(ALLOWED + n));
}

/** The one group that is on the list, of all that there are. */
export const ALLOWED_GROUP = String(GROUP);

function say({ platform, canary }: Scene, chat: number, words: string, more: object = {}): string {
  const message = { chat_id: chat, from: { id: Math.abs(chat) }, text: `${words} ${canary}`, ...more };
  return keyOf(platform, chat, platform.inject(message));
}

function keyOf({ botId }: TelegramServer, chat: number, message: number | string): string {
  return `telegram/${botId}/${chat}:${message}`;
}

function privately(kind: string, words: string, says: RegExp, configKey: string | null = null, prepare?: Prepare): Kind {
  return (scene, n) => {
    const chat = ALLOWED + n;
    prepare?.(scene, String(chat));
    return [{ key: say(scene, chat, words), kind, says, configKey, chat }];
  };
}

type Prepare = (scene: Scene, chatId: string) => void;

/** An answer of a topic that its chat left meanwhile. It is let go by the gate of its number. */
function inTopic(scene: Scene, n: number): { readonly key: string; readonly command: (text: string) => void } {
  const chat = ALLOWED + n;
  const command = (text: string): void => void scene.platform.inject({ chat_id: chat, from: { id: chat }, text });
  command('/new work');
  const key = say(scene, chat, `gate:held${n}`);
  command('/s');
  return { key, command };
}

/** Whether the bot said something like this in the chat. */
function wasTold({ platform }: Scene, chat: number, words: RegExp): boolean {
  return platform.sends.some(({ chatId, text }) => chatId === String(chat) && words.test(text));
}

const ANSWERED = /^It was answered\.$/;
const method = 'sendMessage';

/** In turns. */
export const KINDS: readonly Kind[] = [
  privately('answered', 'hello', ANSWERED),
  privately('tool', 'do:tool', ANSWERED),
  privately('model refuses', 'do:reject', /^It was given up: the model rejected the request \(GH2106\)\.$/),
  privately('model withholds', 'do:withhold', /^It failed: the answer was withheld by the provider \(GH2111\)\.$/),
  privately('model fails once', 'do:once-500', ANSWERED),
  privately(
    'too many model calls',
    'do:endless',
    /^It was answered, and cut short by the limit of model calls\.$/,
    'max_iterations',
  ),
  privately('repeats itself', 'do:loop', /^It was answered, and cut short because the model repeated itself\.$/),
  privately('send is put off', 'hello', ANSWERED, null, ({ platform }, chatId) =>
    platform.fault({ method, chatId, kind: 'error', status: 429, description: 'slow down', parameters: { retry_after: 1 } }),
  ),
  privately(
    'send is refused',
    'hello',
    /^It was answered, but not delivered: 1 of 1 parts refused by the platform/,
    null,
    (scene, chatId) =>
      scene.platform.fault({ method, chatId, kind: 'error', status: 403, description: 'Forbidden: bot was blocked', times: 99 }),
  ),
  privately(
    'reply to a send is lost',
    'hello',
    /^It was answered, but not delivered: 1 of 1 parts sent, without a word/,
    null,
    (scene, chatId) => scene.platform.fault({ method, chatId, kind: 'drop' }),
  ),
  ({ platform }, n) => {
    const chat = ALLOWED + n;
    const key = keyOf(platform, chat, platform.inject({ chat_id: chat, from: { id: chat }, text: '/help' }));
    return [{ key, kind: 'help', says: /^It was answered by the gateway itself: help\.$/, configKey: null, chat }];
  },
  (scene, n) => {
    const chat = STRANGER + n;
    // Codes are given to a few strangers at a time.
    const says = () =>
      wasTold(scene, chat, /This assistant is private/)
        ? /^It was not let in: its sender has to be let in first, and was given a code; `gatehouse pair list` shows it\.$/
        : /^It was not let in: its sender is not on the list\.$/;
    return [{ key: say(scene, chat, 'let me in'), kind: 'stranger', says, configKey: SENDERS }];
  },
  (scene, n) => {
    const more = { from: { id: ALLOWED + n } };
    return [
      {
        key: say(scene, GROUP, 'among ourselves', more),
        kind: 'not mentioned',
        says: /^It was not let in: it did not speak to the assistant\.$/,
        configKey: 'gateway.channels[].group_mode',
      },
      {
        key: say(scene, GROUP - 1 - n, 'hello', more),
        kind: 'other group',
        says: /^It was not let in: the group is not on the list\.$/,
        configKey: 'gateway.channels[].allowed_groups',
      },
      {
        key: say(scene, GROUP, 'hello', { from: { id: STRANGER + n } }),
        kind: 'stranger in a group',
        says: /^It was not let in: its sender is not on the list\.$/,
        configKey: SENDERS,
      },
    ];
  },
  (scene, n) => [
    {
      key: say(scene, ALLOWED + n, 'beep', { from: { id: ALLOWED + n, is_bot: true } }),
      kind: 'bot',
      says: /^It was not let in: another program wrote it\.$/,
      configKey: null,
    },
  ],
  (scene, n) => {
    const chat = ALLOWED + n;
    const key = say(scene, chat, 'hello', { message_id: 1 });
    say(scene, chat, 'hello', { message_id: 1 });
    return [{ key, kind: 'delivered twice', says: ANSWERED, configKey: null, chat }];
  },
  (scene, n) => {
    const chat = ALLOWED + n;
    const first = say(scene, chat, `gate:edit${n}`);
    const text = `second ${scene.canary}`;
    const message = { chat_id: chat, from: { id: chat }, text, message_id: 2_000_000 + n };
    const second = keyOf(scene.platform, chat, scene.platform.inject(message));
    const edit = { ...message, text: `third ${scene.canary}`, edit_date: Math.floor(Date.now() / 1_000) };
    scene.platform.inject(edit, 'edited_message');
    const key = `${second}:edit:${edit.edit_date}:${shortHash(edit.text, 8)}`;
    const says = /^It is no message of its own: it changed a message that still waited/;
    return [
      { key: first, kind: 'before an edited one', says: ANSWERED, configKey: null, chat },
      { key: second, kind: 'edited', says: ANSWERED, configKey: null, chat },
      { key, kind: 'edit', says, configKey: null },
    ];
  },
  (scene, n) => {
    const chat = ALLOWED + n;
    const key = say(scene, chat, `gate:stop${n}`);
    const stop = keyOf(scene.platform, chat, scene.platform.inject({ chat_id: chat, from: { id: chat }, text: '/stop' }));
    return [
      { key, kind: 'stopped', says: /^It was stopped by a person\.$/, configKey: null },
      { key: stop, kind: 'stop', says: /^It was answered by the gateway itself: stop\.$/, configKey: null },
    ];
  },
  (scene, n) => {
    const chat = ALLOWED + n;
    // Of several questions the owner is asked some; whose chat was told that the money is used up was not
    // asked about.
    const says = () =>
      wasTold(scene, chat, /spending limit of this assistant is reached/)
        ? /^It was given up: the spending limit is reached \(GH2112\)\.$/
        : /^It waits for the owner: a limit of spending was met\.$/;
    return [{ key: say(scene, chat, '长'.repeat(3_900)), kind: 'too dear', says, configKey: 'budget.session_usd' }];
  },
  (scene, n) => {
    const says = /^It was answered; the answer is on its way: 0 of 1 parts sent: held until its topic is the active one/;
    const saysLater = /^It was answered; the answer is on its way: 0 of 1 parts sent; the daemon does not run\.$/;
    return [{ key: inTopic(scene, n).key, kind: 'held for its topic', says, configKey: null, saysLater }];
  },
  (scene, n) => {
    const { key, command } = inTopic(scene, n);
    const says = /^It was answered, but not delivered: 1 of 1 parts dropped: their topic was deleted\.$/;
    return [{ key, kind: 'dropped with its topic', says, configKey: null, afterwards: () => command('/delete work') }];
  },
];

/** As many messages of one chat may wait: see `high_water` of the play. */
const LANE_BOUND = 20;

/** Once, at the beginning: a chat that sends more than may wait. What waits is let go by the gate `flood`. */
export function flood(scene: Scene, n: number): readonly Expected[] {
  const chat = ALLOWED + n;
  const keys = Array.from({ length: LANE_BOUND + 2 }, (_, place) => say(scene, chat, place === 0 ? 'gate:flood' : 'hello'));
  const refused = 'It was not let in: too many messages of its chat were waiting';
  return keys.map((key, place) => {
    if (place < LANE_BOUND) return { key, kind: 'before a flood', says: ANSWERED, configKey: null };
    const says = new RegExp(`^${refused}${place === LANE_BOUND ? '; the chat was told' : ''}\\.$`);
    return { key, kind: 'flood', says, configKey: 'limits.chat_messages' };
  });
}

/** Once: what a job says in its chat. */
export function jobRun(n: number, id: string, due: number): { readonly job: Job; readonly expected: Expected } {
  const payload = { text: 'hello', profile: 'session', deliver: { channel: 'telegram', chatId: String(ALLOWED + n) } } as const;
  const schedule = { kind: 'every', ms: 30 * 86_400_000, from: due } as const;
  return {
    job: job({ id, name: 'judge', schedule, payload, nextDue: due }),
    expected: { key: jobRunKey(id, due), kind: 'job', says: ANSWERED, configKey: null },
  };
}

/** What is not over when the play ends, in the order in which `grownOld` names it again. */
export function waiting(scene: Scene): readonly Expected[] {
  const chat = ALLOWED;
  const putOff = ALLOWED + 1;
  const parameters = { retry_after: 3_600 };
  const slow = { method, kind: 'error', status: 429, description: 'slow down', parameters, times: 99 } as const;
  scene.platform.fault({ ...slow, chatId: String(putOff) });
  return [
    {
      key: say(scene, chat, 'gate:never'),
      kind: 'worked on',
      says: /^It is being worked on\.$/,
      configKey: null,
      saysLater: /^It waits: it goes on when the daemon runs again\.$/,
    },
    {
      key: say(scene, chat, 'behind it'),
      kind: 'behind',
      says: /^It waits: 1 before it in its chat\.$/,
      configKey: null,
      saysLater: /^It waits for the daemon, which does not run\.$/,
    },
    {
      key: say(scene, putOff, 'hello'),
      kind: 'put off for long',
      says: /^It was answered; the answer is on its way: 0 of 1 parts sent, tried again in /,
      configKey: null,
      saysLater: /^It was answered; the answer is on its way: 0 of 1 parts sent; the daemon does not run\.$/,
    },
  ];
}

/** What becomes of those when the daemon is killed again and again, and more than a day passes meanwhile. */
export function grownOld(waits: readonly Expected[], attempts: number): readonly Expected[] {
  const ends: readonly Omit<Expected, 'key'>[] = [
    {
      kind: 'too many attempts',
      says: new RegExp(`^It was given up: gave up after ${attempts} attempts\\.$`),
      configKey: 'gateway.max_attempts',
    },
    { kind: 'too old', says: /^It was given up: too old\.$/, configKey: 'gateway.max_message_age_hours' },
    {
      kind: 'expired answer',
      says: /^It was answered, but not delivered: 1 of 1 parts too old to be sent: expired\.$/,
      configKey: 'gateway.answer_expiry_hours',
      saysLater: /^It was answered, but not delivered: too old to be sent\.$/,
    },
  ];
  return waits.flatMap(({ key }, n) => ends.slice(n, n + 1).map((end) => ({ key, ...end })));
}
