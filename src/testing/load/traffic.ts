/** One message that a person is going to write. */
export interface Question {
  readonly channel: string;
  readonly person: number;
  /** Who writes, where `person` is a group; see `Platform.writeInGroup`. */
  readonly sender?: number;
  /** Unique on the channel. */
  readonly number: number;
  /** After the beginning of the phase. ms. */
  readonly dueMs: number;
}

export interface TrafficOptions {
  readonly channels: readonly { readonly name: string /** Most people there can be. */; readonly people?: number }[];
  /** Per channel. */
  readonly messages: number;
  /** Messages a second, per channel. */
  readonly rate: number;
  /** Per channel, where it can have so many. */
  readonly people: number;
  /** The first person and number. Each phase has its own, so that all meet conversations of equal length. */
  readonly firstPerson: number;
  readonly firstNumber: number;
  /** 0 <= x < 1. */
  readonly random: () => number;
}

/** What people write and when: a steady rate on each channel, channels interleaved, people in drawn order. */
export function planTraffic({
  channels,
  messages,
  rate,
  people,
  firstPerson,
  firstNumber,
  random,
}: TrafficOptions): readonly Question[] {
  const gap = 1_000 / rate;
  const questions = channels.flatMap(({ name, people: most = people }) => {
    const count = Math.min(people, most);
    // Where there is one person only, it is the same in every phase.
    const first = most < people ? 0 : firstPerson;
    const offset = random() * gap;
    const order = shuffled(
      Array.from({ length: messages }, (_, index) => first + (index % count)),
      random,
    );
    return order.map((person, index) => ({
      channel: name,
      person,
      number: firstNumber + index,
      dueMs: offset + index * gap,
    }));
  });
  return questions.sort((a, b) => a.dueMs - b.dueMs);
}

export function questionText({ channel, number }: Pick<Question, 'channel' | 'number'>): string {
  return `question ${channel} ${number}`;
}

/** What the model makes of a question; undefined when the text is none. */
export function answerTo(
  text: string,
): { readonly channel: string; readonly number: number; readonly answer: string } | undefined {
  const [, channel, number] = /question ([a-z]+) (\d+)/.exec(text) ?? [];
  return channel === undefined ? undefined : { channel, number: Number(number), answer: `answer ${channel} ${number}` };
}

/** The number of the question that a text on this channel answers. */
export function answeredNumber(channel: string, text: string): number | undefined {
  const number = new RegExp(`answer ${channel} (\\d+)`).exec(text)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** mulberry32: small, seedable, good enough to draw lots. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const result = [...values];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}
