import type { DatabaseSync } from 'node:sqlite';
import type { SeenMessage } from '../../simulator/platforms/platform.ts';
import { answeredNumber, type Question } from './traffic.ts';

/** What people got on one channel in one phase. */
export interface ChannelRecord {
  readonly channel: string;
  /** Of every message that was answered, from writing it to seeing the answer. ms, in no order. */
  readonly latenciesMs: readonly number[];
  /**
   * Numbers of questions without an answer, with more than one, and with one that came behind that of a later
   * question of the person.
   */
  readonly missing: readonly number[];
  readonly twice: readonly number[];
  readonly disordered: readonly number[];
  /** Answers that another person saw than the one who asked, each with both. */
  readonly misdelivered: readonly string[];
  /** Texts that answer nothing, such as notices. */
  readonly strange: readonly string[];
}

export interface Written extends Question {
  /** Epoch ms. */
  readonly writtenAt: number;
}

/**
 * `seen` is what the platform shows of the bot, oldest first; what belongs to other phases is left out.
 * `place` is that of a question among those the bot was given: a platform whose connection broke hands over
 * what it kept after what is new.
 */
export function judgeChannel(
  channel: string,
  written: readonly Written[],
  seen: readonly SeenMessage[],
  place: (number: number) => number = (number) => number,
): ChannelRecord {
  const byNumber = new Map(written.map((question) => [question.number, question]));
  const answers = new Map<number, SeenMessage>();
  const twice: number[] = [];
  const misdelivered: string[] = [];
  const strange: string[] = [];
  const disordered: number[] = [];
  const newest = new Map<number, number>();
  const people = new Set(written.map(({ person }) => person));
  for (const message of seen) {
    const number = answeredNumber(channel, message.text);
    if (number === undefined) {
      if (people.has(message.person)) strange.push(message.text);
      continue;
    }
    const question = byNumber.get(number);
    if (!question) continue;
    // An answer in somebody else's chat answers nobody and tells somebody what is none of their business.
    if (question.person !== message.person)
      misdelivered.push(`for person ${question.person}, at person ${message.person}: ${message.text}`);
    else if (answers.has(number)) twice.push(number);
    else {
      answers.set(number, message);
      const last = newest.get(message.person) ?? -1;
      if (place(number) < last) disordered.push(number);
      newest.set(message.person, Math.max(place(number), last));
    }
  }
  return {
    channel,
    latenciesMs: [...answers].map(([number, { at }]) => at - (byNumber.get(number)?.writtenAt ?? Number.NaN)),
    missing: written.map(({ number }) => number).filter((number) => !answers.has(number)),
    ...{ twice, disordered, misdelivered, strange },
  };
}

/** In words, what no trouble excuses; empty = nothing. */
export function neverExcused({ twice, disordered, misdelivered }: ChannelRecord): string[] {
  return [
    ...(twice.length > 0 ? [`${twice.length} answered twice (${twice.slice(0, 5).join(', ')})`] : []),
    ...(disordered.length > 0 ? [`${disordered.length} out of order (${disordered.slice(0, 5).join(', ')})`] : []),
    ...(misdelivered.length > 0 ? [`${misdelivered.length} seen by another person: ${misdelivered[0]?.slice(0, 80)}`] : []),
  ];
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))] ?? Number.NaN;
}

/** Every question in the order in which the daemon took it: that is the order of the answers. */
export function placesIn(database: DatabaseSync): ReadonlyMap<string, number> {
  const rows = database.prepare('SELECT seq, input FROM run ORDER BY seq').all();
  return new Map(rows.map(({ seq, input }) => [String(JSON.parse(String(input)).text).trim(), Number(seq)]));
}
