/** Reasons in words, and the key of the config that decides each, where one does. */
import { ERROR_CODES } from '../core/error-codes.ts';
import type { WaitingLimit } from '../core/message.ts';
import type { Profile } from '../core/new-run.ts';
import { HELD_FULL, TOPIC_DELETED, WITHDRAWN } from '../core/outbox.ts';
import { BUSY, INTERRUPTED, MERGED, STEERED, SUPERSEDED } from '../core/queueing.ts';
import { NOT_HEARD } from '../core/run.ts';

/** A sentence's end, without the full stop. */
export interface Reason {
  readonly text: string;
  readonly configKey?: string;
}

export interface Gate {
  readonly gate: 'received' | 'access' | 'lane' | 'budget' | 'model' | 'tools' | 'answer';
  /** `waits`: nothing is wrong, and it is not over. */
  readonly state: 'passed' | 'waits' | 'failed';
  readonly text: string;
  /** What a platform or a provider says, for the operator. */
  readonly detail?: string;
}

type Reasons = Readonly<Record<string, readonly [text: string, configKey?: string]>>;

const QUEUE = 'gateway.queue_mode';
const SENDERS = 'gateway.channels[].allowed_senders';

/** Limits on what waits, by their key in section `limits`. */
const WAITING: Readonly<Record<WaitingLimit, string>> = {
  person_messages: 'too many messages of its sender were waiting',
  person_mb: 'the waiting messages of its sender were too large together',
  chat_messages: 'too many messages of its chat were waiting',
  chat_mb: 'the waiting messages of its chat were too large together',
};

const floods = (text: (reason: string) => string): Reasons =>
  Object.fromEntries(Object.entries(WAITING).map(([key, reason]) => [`flood:${key}`, [text(reason), `limits.${key}`]]));

/** Why something was not let in. */
const REFUSALS: Reasons = {
  'not-allowed': ['its sender is not on the list', SENDERS],
  'pairing-required': ['its sender has to be let in first, which `gatehouse pair list` shows', SENDERS],
  denied: ['the owner has turned its sender away, which `gatehouse pair approve --sender` ends', SENDERS],
  blocked: ['its sender or its group is blocked, which `gatehouse people list` shows and `gatehouse people unblock` ends'],
  'group-not-allowed': ['the group is not on the list', 'gateway.channels[].allowed_groups'],
  'not-mentioned': ['it did not speak to the assistant', 'gateway.channels[].group_mode'],
  'bot-author': ['another program wrote it'],
  'automatic-mail': ['it is an automatic mail'],
  'forged-sender': ['its sender could not be verified'],
  'own-message': ['the assistant wrote it itself'],
  'loop-cap': ['too many answers went to its sender or its chat within a short time'],
  empty: ['there was nothing in it'],
  'answered-by-platform': ['the platform answers this word itself'],
  'too-large': ['it is larger than is accepted'],
  ...floods((reason) => reason),
  // Of earlier versions.
  flood: ['too many messages of its chat or sender were waiting', 'limits'],
  unreadable: ['it could not be read'],
  undated: ['a bouncer showed it again without the time, so that it may have been answered before'],
};

/** What is no message of its own: it belongs to another one. */
const PASSED_BY: Reasons = {
  deleted: ['it takes back a message that had begun already, or that is not known'],
  unchanged: ['the edit changed no word'],
  reaction: ['it is a reaction, and no question'],
  duplicate: ['the platform delivered it before; see the first one'],
  amended: ['it changed a message that still waited, and is answered with that one'],
};

/** What ended a run, other than an answer of the agent. */
const OUTCOMES: Reasons = {
  answered: ['It was answered'],
  silent: ['The job had nothing to tell'],
  cancelled: ['It was stopped by a person'],
  deleted: ['It was taken back before its turn'],
  setup: ['It was the code of `gatehouse setup`'],
  'own-call': ['A program that mcp_clients names did it, without the agent'],
  'not-mentioned': ['It did not speak to the assistant', 'gateway.channels[].group_patterns'],
  [SUPERSEDED]: ['It was superseded: its sender wrote again before its turn began, and the newest message counts', QUEUE],
  [INTERRUPTED]: ['It was interrupted by a newer message of its sender, which was answered in its place', QUEUE],
  [BUSY]: ['It was not worked on: as many messages of its chat as may were under way; the chat was told', QUEUE],
  [NOT_HEARD]: ['It was not listened to: it is not known whether it spoke to the assistant', 'transcription'],
  'not-permitted': ['It was a command of the owner; its author was told so within the hour', 'gateway.owner'],
  'refused:hook': ['A hook of the operator refused it; the chat was told why', 'hooks'],
  'no-model': ['There is no model to answer it', 'provider'],
  pairing: [
    'It was not let in: its sender has to be let in first, and was given a code; `gatehouse pair list` shows it',
    SENDERS,
  ],
  ...floods((reason) => `It was not let in: ${reason}; the chat was told`),
  'flood:at-once': ['It was left alone: its sender sent too many commands within a minute; the chat was told'],
  flood: ['It was not let in: too many messages of its chat or sender were waiting; the chat was told', 'limits'],
  'limit:iterations': ['It was answered, and cut short by the limit of model calls', 'max_iterations'],
  'limit:time': ['It was answered, and cut short by the limit of time', 'gateway.session_timeout_secs'],
  'limit:tokens': ['It was answered, and cut short by the limit of tokens'],
  'limit:step': ['It was answered, and cut short because one step took too long'],
  'limit:loop': ['It was answered, and cut short because the model repeated itself'],
};

/** As `OUTCOMES`, of a task: the keys of conversations decide for them alone. A sub-agent has no such key. */
const TASK_KEYS: Readonly<Record<string, string>> = {
  'limit:iterations': 'tasks.max_iterations',
  'limit:time': 'tasks.timeout_secs',
  'limit:step': 'tasks.step_timeout_secs',
  'limit:tokens': 'tasks.max_tokens',
};

/** What gave a run up at a start: also where its row is gone, and the record alone knows of it. */
const GIVEN_UP: readonly (readonly [outcome: RegExp, configKey: string])[] = [
  [/^too old$/, 'gateway.max_message_age_hours'],
  [/^gave up after \d+ attempts$/, 'gateway.max_attempts'],
];

/** Decides how many turns of one person run at once. */
export const TURNS_KEY = 'limits.person_turns_at_once';

/** Decides when an answer is too old to be sent. */
export const EXPIRY_KEY = 'gateway.answer_expiry_hours';

/** Why parts are EXPIRED before their time was over. No key of the config decides these. */
export const UNSENT: Readonly<Record<string, string>> = {
  [WITHDRAWN]: 'withdrawn: their reader was revoked or blocked',
  [HELD_FULL]: 'left out: as many messages were held for their topic as may be',
  [TOPIC_DELETED]: 'dropped: their topic was deleted',
};

const FAILURE_KEYS: Readonly<Record<string, string>> = {
  GH2101: 'api_key_env',
  GH2104: 'base_url',
  GH2105: 'gateway.llm_timeout_secs',
  GH2112: 'budget',
  GH2113: 'budget.allow_unknown_price',
  GH2117: 'model',
};

const LIMIT_KEYS: Readonly<Record<string, string>> = {
  day: 'budget.daily_usd',
  session: 'budget.session_usd',
  sender: 'budget.sender_usd',
  job: 'budget.job_usd',
};

/** Why something was not let in, as a whole sentence. */
export function refusalOf(reason: string): Reason & { readonly sentence: string } {
  const passedBy = PASSED_BY[reason];
  if (passedBy) return { text: passedBy[0], sentence: `It is no message of its own: ${passedBy[0]}.` };
  const refused = toReason(REFUSALS[reason] ?? [reason]);
  return { ...refused, sentence: `It was not let in: ${refused.text}.` };
}

/** `isDead`: it was given up. `profile`: absent where its row is gone, as if it were a conversation's. */
export function endOf(outcome: string, isDead: boolean, profile: Profile = 'session'): Reason {
  const known = OUTCOMES[outcome];
  if (known && outcome.startsWith('limit:') && profile !== 'session')
    return toReason([known[0], profile === 'task' ? TASK_KEYS[outcome] : undefined]);
  if (known) return toReason(known);
  if (outcome.startsWith(STEERED))
    return toReason([`It was steered: told to the turn that ran, of ${outcome.slice(STEERED.length)}`, QUEUE]);
  if (outcome.startsWith(MERGED))
    return toReason([`It was merged: one request with ${outcome.slice(MERGED.length)}, and it ended as that did`, QUEUE]);
  const givenUp = GIVEN_UP.find(([pattern]) => pattern.test(outcome));
  if (givenUp) return { text: `It was given up: ${outcome}`, configKey: givenUp[1] };
  const code = /^failed:(.*)$/.exec(outcome)?.[1];
  if (code === undefined)
    return { text: isDead ? `It was given up: ${outcome}` : `It was answered by the gateway itself: ${outcome}` };
  const configKey = FAILURE_KEYS[code];
  return { text: `It ${isDead ? 'was given up' : 'failed'}: ${codeText(code)}`, ...(configKey ? { configKey } : {}) };
}

/** Its sender was told that it is not let in: with a code, or that too much of theirs waits. */
export function isTurnedAway(outcome: string): boolean {
  return outcome === 'pairing' || /^flood\b/.test(outcome);
}

/** A code with its title. */
export function codeText(code: string): string {
  const known = Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as keyof typeof ERROR_CODES].title : undefined;
  return known === undefined ? code : `${known} (${code})`;
}

/** What a limit on spending needs to know. */
export const PRICE_KEY = 'model_hints.price';

/** Of a limit on spending, by its name in the event `budget`. */
export function limitKey(limit: string): string {
  return LIMIT_KEYS[limit] ?? 'budget';
}

function toReason([text, configKey]: readonly [string, (string | undefined)?]): Reason {
  return configKey === undefined ? { text } : { text, configKey };
}
