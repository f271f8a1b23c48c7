/** Why a message was answered, or was not: gate by gate, from the record and what lies in the journal. */
import type { ChannelHealth } from '../core/channel.ts';
import type { RunEvent } from '../core/events.ts';
import { isPieceOfAnswer } from '../core/ids.ts';
import { TOO_OLD } from '../core/outbox.ts';
import type { PartSummary, RunAbout, RunSummary } from '../core/record.ts';
import { counted } from '../lib/counted.ts';
import { waitsForText } from './told.ts';
import {
  codeText,
  EXPIRY_KEY,
  endOf,
  type Gate,
  isTurnedAway,
  limitKey,
  PRICE_KEY,
  type Reason,
  refusalOf,
  TURNS_KEY,
  UNSENT,
} from './why-reasons.ts';
import { deniedOf, deniedText, heldCall, toolsGate } from './why-tools.ts';

export interface Why {
  /** One sentence: what became of it, and the reason. */
  readonly verdict: string;
  /** The same without what is for the operator only. */
  readonly told: string;
  /** The key of the config that decided, where one did. */
  readonly configKey?: string;
  readonly gates: readonly Gate[];
}

/** How things are now, as far as it is known to who asks. */
export interface Present {
  readonly now: number;
  /** Absent = not known. */
  readonly daemon?: 'up' | 'down';
  /** Of the channel it came through; `removed`: the config has it no more. */
  readonly channel?: ChannelHealth | 'removed';
  /** Turns that one person may have at once. */
  readonly ofPerson?: number;
}

/** What became of it, without the full stop. */
type Verdict = Reason & Pick<Gate, 'detail'>;

type PartEnd = 'part.sent' | 'part.dead' | 'part.expired' | 'part.unknown';

type Of<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;

export function whyOf({ parts, ...rest }: RunAbout, present: Present): Why {
  const about = { ...rest, parts: parts.filter(({ key }) => isPieceOfAnswer(key)) };
  const events = about.events.map(({ event }) => event);
  const gates: Gate[] = [];
  const received = last(events, 'received');
  if (received) gates.push({ gate: 'received', state: 'passed', text: `from ${received.channel ?? 'a job'}` });
  const job = last(events, 'job');
  if (job && !about.run) {
    gates.push({ gate: 'access', state: 'failed', text: job.reason });
    const verdict = `The job did not run (${job.state}): ${job.reason}.`;
    return { verdict, told: verdict, gates };
  }
  const dropped = last(events, 'dropped');
  // Delivered again after its row was purged, it is `dropped` as a duplicate, too.
  if (dropped && !about.run && !events.some(({ type }) => type === 'admitted' || type === 'finished')) {
    const { text, sentence, configKey } = refusalOf(dropped.reason);
    gates.push({ gate: 'access', state: 'failed', text });
    return { verdict: sentence, told: sentence, ...(configKey ? { configKey } : {}), gates };
  }
  const outcome = about.run?.outcome ?? last(events, 'finished')?.outcome ?? '';
  const isLetIn = !isTurnedAway(outcome);
  gates.push({ gate: 'access', state: isLetIn ? 'passed' : 'failed', text: isLetIn ? 'let in' : 'not let in' });
  const lane = about.run && laneGate(about.run, events, present);
  // What is answered at once has no turn that could begin.
  if (lane && (lane.state !== 'passed' || (about.run?.attempts ?? 0) > 0)) gates.push(lane);
  const answer = answerGate(about, events, present);
  for (const gate of [budgetGate(events), modelGate(events), toolsGate(events), answer]) if (gate) gates.push(gate);
  const { text, detail, configKey } = verdictOf(about, events, answer, present);
  const verdict = `${text}${detail === undefined ? '' : `: ${detail}`}.`;
  return { verdict, told: `${text}.`, ...(configKey ? { configKey } : {}), gates };
}

/** Whether it has not begun because as many turns of its person run as may. */
function isOverTurns(run: RunSummary, { ofPerson, daemon }: Present): boolean {
  const isNext = run.state === 'NEW' && run.ahead === 0 && daemon !== 'down';
  return isNext && run.role !== 'owner' && ofPerson !== undefined && run.turns >= ofPerson;
}

function laneGate(run: RunSummary, events: readonly RunEvent[], present: Present): Gate {
  const { daemon } = present;
  const waits = (text: string): Gate => ({ gate: 'lane', state: 'waits', text });
  if (run.state === 'PARKED') return waits(`waits for ${whomText(run) ?? waitsForText(run.waitsFor)}`);
  if (run.state === 'NEW' && daemon === 'down') return waits('waits for the daemon, which does not run');
  if (run.state === 'NEW' && run.ahead > 0) return waits(`${run.ahead} before it in its chat`);
  if (isOverTurns(run, present)) return waits(`waits for a turn of its sender to end: ${run.turns} run, and no more may at once`);
  if (run.state === 'NEW') return waits('waits for its turn');
  const started = last(events, 'started');
  const waited = started ? `, after ${seconds(started.waitedMs)}` : '';
  return { gate: 'lane', state: 'passed', text: `begun ${times(run.attempts)}${waited}` };
}

/**
 * Whose answer it waits for and since when; undefined = it waits for something else, too, or nobody is named.
 */
function whomText({ asks, waitsFor }: RunSummary): string | undefined {
  const named = asks.flatMap(({ who, since }) => (who === undefined ? [] : [`${who} since ${minuteOf(since)}`]));
  const others = waitsFor.filter((kind) => kind !== 'person');
  if (named.length === 0) return undefined;
  const more = others.length === 0 ? [] : [waitsForText(others)];
  return [...named, ...more].join(' and ');
}

/** `2026-11-26 04:30 UTC`. */
function minuteOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function budgetGate(events: readonly RunEvent[]): Gate | undefined {
  const met = last(events, 'budget');
  if (!met) return undefined;
  const spent = `$${met.spentUsd.toFixed(2)} of $${met.limitUsd.toFixed(2)} spent`;
  const limit =
    met.unpriced === undefined
      ? `the limit of the ${met.limit} was met (${spent})`
      : `the price of ${met.unpriced} is unknown, so the limit of the ${met.limit} cannot count it (${spent})`;
  const steps = {
    ...{ cheaper: 'a cheaper model was asked', 'no-tools': 'it went on without tools' },
    ...{ asked: 'the owner was asked', allowed: 'the owner allowed it' },
  };
  if (met.step === 'stopped') return { gate: 'budget', state: 'failed', text: limit };
  const step = steps[met.step as keyof typeof steps] ?? met.step;
  const isOpen = met.step === 'asked' && events.findLast(isStep) === met;
  return { gate: 'budget', state: isOpen ? 'waits' : 'passed', text: `${limit}: ${step}` };
}

function modelGate(events: readonly RunEvent[]): Gate | undefined {
  const done = events.filter((event) => event.type === 'model.done');
  const failed = events.filter((event) => event.type === 'model.failed');
  if (done.length + failed.length === 0) return undefined;
  const calls = `${done.length} of ${done.length + failed.length} calls answered`;
  const worst = failed.at(-1);
  const detail = worst && `${worst.model}: ${worst.kind} (${worst.code})`;
  if (done.length === 0) return { gate: 'model', state: 'failed', text: calls, ...(detail ? { detail } : {}) };
  const by = [...new Set(done.map(({ model }) => model))].join(', ');
  return { gate: 'model', state: 'passed', text: `${calls}, by ${by}`, ...(detail ? { detail } : {}) };
}

function answerGate({ run, parts }: RunAbout, events: readonly RunEvent[], { now, channel, daemon }: Present): Gate | undefined {
  // What an unfinished run said before it was begun again is no answer to its message.
  if (parts.length === 0) return run && run.state !== 'DONE' ? undefined : answerOfRecord(events);
  const count = (state: PartSummary['state']): number => parts.filter((part) => part.state === state).length;
  const bad = parts.find(isLost);
  if (bad)
    return {
      ...{
        gate: 'answer',
        state: 'failed',
        text: `${count(bad.state)} of ${parts.length} parts ${lossOf(bad.state, bad.reason)}`,
      },
      ...(bad.reason === undefined || isUnsent(bad.reason) ? {} : { detail: bad.reason }),
    };
  const open = parts.find(({ state }) => state === 'PENDING' || state === 'SENDING');
  if (!open) return { gate: 'answer', state: 'passed', text: `${counted(parts.length, 'part')} sent` };
  const sent = `${count('SENT')} of ${parts.length} parts sent`;
  if (daemon === 'down') return { gate: 'answer', state: 'waits', text: `${sent}; the daemon does not run` };
  if (channel === 'down' || channel === 'starting' || channel === 'stopped')
    return { gate: 'answer', state: 'waits', text: `${sent}; the channel is ${channel}` };
  if (channel === 'removed') return { gate: 'answer', state: 'waits', text: `${sent}; the channel is not in the config` };
  const way = inItsWay(open);
  if (way) return { gate: 'answer', state: 'waits', text: `${sent}; ${way.text}`, ...(way.detail ? { detail: way.detail } : {}) };
  const wait = open.notBefore > now ? `, tried again in ${seconds(open.notBefore - now)}` : '';
  return {
    gate: 'answer',
    state: 'waits',
    text: `${sent}${wait}`,
    ...(open.reason === undefined ? {} : { detail: open.reason }),
  };
}

function inItsWay({ behind, elsewhere }: PartSummary): Pick<Gate, 'text' | 'detail'> | undefined {
  if (behind) return { text: `${behind.count} before it in its chat`, ...(behind.reason ? { detail: behind.reason } : {}) };
  return elsewhere === undefined ? undefined : { text: 'in another chat of its channel', detail: elsewhere };
}

const ENDS: Readonly<Record<string, string>> = {
  DEAD: 'refused by the platform',
  EXPIRED: TOO_OLD,
  UNKNOWN: 'sent, without a word from the platform whether they arrived',
};

function isUnsent(reason = ''): boolean {
  return Object.hasOwn(UNSENT, reason);
}

function lossOf(state: string, reason = ''): string {
  return (isUnsent(reason) ? UNSENT[reason] : ENDS[state]) ?? state;
}

/** Rows of parts are purged, or dropped by the operator, before the record is. */
function answerOfRecord(events: readonly RunEvent[]): Gate | undefined {
  const ends = partEnds(events);
  const lost = ends.find(({ type }) => type !== 'part.sent');
  if (lost) {
    const text = lossOf(lost.type.slice(5).toUpperCase(), 'reason' in lost ? lost.reason : undefined);
    return { gate: 'answer', state: 'failed', text };
  }
  return ends.length === 0 ? undefined : { gate: 'answer', state: 'passed', text: `${counted(ends.length, 'part')} sent` };
}

/** Why a part may be EXPIRED that nothing newer took the place of. */
const COUNTED: readonly string[] = [TOO_OLD, ...Object.keys(UNSENT)];

/** What each part came to last: one that was lost may have been sent again, or found. */
function partEnds(events: readonly RunEvent[]): readonly Of<PartEnd>[] {
  const ends = events.filter(
    (event): event is Of<PartEnd> =>
      event.type === 'part.sent' || event.type === 'part.dead' || event.type === 'part.expired' || event.type === 'part.unknown',
  );
  const newest = new Map(ends.map((event) => [event.key, event]));
  return [...newest.values()].filter(
    (event) => isPieceOfAnswer(event.key) && (event.type !== 'part.expired' || COUNTED.includes(event.reason)),
  );
}

/** Whether an answer was lost because its time was over. */
function isExpired({ parts }: RunAbout, events: readonly RunEvent[]): boolean {
  const lost = parts.find(isLost);
  if (parts.length > 0) return lost?.state === 'EXPIRED' && !isUnsent(lost.reason);
  const end = partEnds(events).find(({ type }) => type !== 'part.sent');
  return end?.type === 'part.expired' && !isUnsent(end.reason);
}

function isLost({ state }: PartSummary): boolean {
  return state === 'DEAD' || state === 'EXPIRED' || state === 'UNKNOWN';
}

function verdictOf(about: RunAbout, events: readonly RunEvent[], answer: Gate | undefined, present: Present): Verdict {
  const { run } = about;
  const budget = last(events, 'budget');
  const limit = budget ? { configKey: budget.unpriced === undefined ? limitKey(budget.limit) : PRICE_KEY } : {};
  if (run?.state === 'NEW' || run?.state === 'RUNNING' || run?.state === 'PARKED') {
    if (budget?.step === 'asked' && events.findLast(isStep) === budget)
      return {
        text: `It waits for the owner: ${budget.unpriced === undefined ? 'a limit of spending was met' : 'the price of the model is unknown'}`,
        ...limit,
      };
    if (run.state === 'RUNNING' && present.daemon === 'down') return { text: 'It waits: it goes on when the daemon runs again' };
    if (run.state === 'RUNNING') {
      const newest = events.at(-1);
      // A turn that is tried again stays RUNNING meanwhile, and its next event is that it begins once more.
      const after = newest?.type === 'failed' ? `, after a failure: ${codeText(newest.code)}` : '';
      return { text: `It is being worked on${after}` };
    }
    const held = run.state === 'PARKED' ? heldCall(events) : undefined;
    if (held) return { text: `It waits for a yes to ${held.tool}: ${held.reason}`, ...keyOf(held) };
    const { text } = laneGate(run, events, present);
    const decides = isOverTurns(run, present) ? { configKey: TURNS_KEY } : {};
    return { text: text.startsWith('waits ') ? `It ${text}` : `It waits: ${text}`, ...decides };
  }
  const outcome = run?.outcome ?? last(events, 'finished')?.outcome;
  const end = outcome === undefined ? undefined : endOf(outcome, run?.state === 'DEAD', run?.profile);
  const isAnswered = outcome === 'answered' || outcome?.startsWith('limit:');
  if (answer && answer.state !== 'passed' && (isAnswered || end === undefined)) {
    const detail = answer.detail === undefined ? {} : { detail: answer.detail };
    const decides = isExpired(about, events) ? { configKey: EXPIRY_KEY } : {};
    if (answer.state === 'failed') return { text: `It was answered, but not delivered: ${answer.text}`, ...detail, ...decides };
    return { text: `It was answered; the answer is on its way: ${answer.text}`, ...detail };
  }
  if (!end) return { text: 'Nothing more is known of it' };
  const denied = isAnswered ? deniedOf(events).at(-1) : undefined;
  if (denied && end.configKey === undefined) return { text: `${end.text}, but ${deniedText(denied)}`, ...keyOf(denied) };
  return outcome === 'failed:GH2112' ? { ...end, ...limit } : end;
}

function keyOf({ key }: { readonly key?: string }): Pick<Reason, 'configKey'> {
  return key === undefined ? {} : { configKey: key };
}

/** What a run did last: after a question to the owner, whether it went on. */
function isStep({ type }: RunEvent): boolean {
  return type === 'budget' || type === 'settled' || type === 'model.done' || type === 'model.failed' || type === 'started';
}

function last<Type extends RunEvent['type']>(events: readonly RunEvent[], type: Type): Of<Type> | undefined {
  return events.findLast((event): event is Of<Type> => event.type === type);
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
