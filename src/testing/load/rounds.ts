import { FLOOD_SHAPES, type FloodShape, planFlood, wrongFlood } from './flood.ts';
import { type ChannelRecord, neverExcused, percentile } from './judge.ts';
import type { PhaseRecord, Stage, Victims } from './stage.ts';
import { planTraffic, shuffled } from './traffic.ts';

/** "Every other channel's p95 at most 1.2 times its quiet figure." */
export const MOST_RATIO = 1.2;
/**
 * So much higher may the peak of the daemon's memory be with requests that it refuses than in the quiet phase
 * before.
 */
const MOST_GROWN_MB = 50;
/** Per channel, before anything is measured: code is compiled, SDKs are loaded, keys are exchanged. */
const WARM_UP_MESSAGES = 20;

export interface LoadOptions {
  readonly messages: number;
  readonly rate: number;
  readonly people: number;
  readonly patienceMs: number;
  readonly random: () => number;
  readonly troubles: readonly Trouble[];
  /** Messages of a flood by chat or sender. */
  readonly flood: number;
  /** Requests without a signature. */
  readonly unsigned: number;
  /** No channel is in trouble: shows how much the figures of this machine differ by themselves. */
  readonly control: boolean;
  /** Told what happens, for a person who waits. */
  readonly say: (text: string) => void;
}

/**
 * `rounds`: three channels at a time are in trouble, each by another one. `unsigned`: requests without a
 * signature come to every channel with a webhook.
 */
export const TROUBLES = ['rounds', ...FLOOD_SHAPES, 'unsigned'] as const;
export type Trouble = (typeof TROUBLES)[number];

export interface Row {
  readonly round: number;
  readonly channel: string;
  /** What made it suffer, if anything; of a flood, the row is the flooder's. */
  readonly trouble: keyof Victims | FloodShape | 'unsigned' | undefined;
  readonly quietP50: number;
  readonly quietP95: number;
  readonly p50: number;
  readonly p95: number;
  readonly ratio: number;
  /** What was wrong, in words; empty = as promised. */
  readonly faults: readonly string[];
}

/**
 * Rounds of the same traffic with three channels in trouble, until each channel was in trouble once, then
 * with each kind of flood. Half of the quiet messages come before and half after the troubled ones: what else
 * the machine does changes in minutes, and so it changes both figures alike.
 */
export async function runRounds(stage: Stage, options: LoadOptions): Promise<readonly Row[]> {
  const phases = new Phases(stage, options);
  options.say('warming up');
  await phases.run({}, WARM_UP_MESSAGES);
  const rows: Row[] = [];
  const plan = planOf(stage, options);
  for (const [index, round] of plan.entries()) {
    const { victims, flood, unsigned } = round;
    const named = [
      ...Object.entries(victims),
      ...(flood ? [[flood.shape, flood.channel]] : []),
      ...(unsigned ? [['unsigned', 'webhooks']] : []),
    ].map(([trouble, name]) => `${name} (${trouble})`);
    const half = Math.ceil(options.messages / 2);
    // What a process holds grows while it warms up: the control has come as far, with as many messages.
    const control = unsigned === undefined ? undefined : await settled(phases, options);
    options.say(`round ${index + 1} of ${plan.length}: quiet`);
    const before = await phases.run({}, half);
    options.say(`round ${index + 1} of ${plan.length}: ${named.join(', ') || 'quiet'}`);
    const troubled = await phases.run(victims, options.messages, round);
    options.say(`round ${index + 1} of ${plan.length}: quiet again`);
    const after = await phases.run({}, half);
    rows.push(...compare(index + 1, [before, after], troubled, round));
    if (flood) rows.push(flooderRow(index + 1, flood, troubled));
    if (unsigned) rows.push(unsignedRow(index + 1, unsigned, troubled, Math.max(before.peakMb, control?.peakMb ?? 0)));
  }
  return rows;
}

/** The second of two quiet phases, as long as the troubled one. */
async function settled(phases: Phases, { messages, say }: LoadOptions): Promise<PhaseRecord> {
  say('two quiet phases, until its memory has settled');
  await phases.run({}, messages);
  return await phases.run({}, messages);
}

interface Round {
  readonly victims: Victims;
  readonly flood?: { readonly shape: FloodShape; readonly channel: string; readonly messages: number };
  readonly unsigned?: number;
}

function planOf(stage: Stage, { random, troubles, flood: messages, unsigned, control }: LoadOptions): readonly Round[] {
  const drawn = troubles.includes('rounds') ? drawVictims(stage, random) : [];
  const shapes = FLOOD_SHAPES.filter((shape) => troubles.includes(shape));
  const requests = troubles.includes('unsigned') ? [{ victims: {}, unsigned }] : [];
  if (control) return [...drawn, ...shapes, ...requests].map(() => ({ victims: {} }));
  const channel = floodable(stage.platforms) ?? '';
  return [
    ...drawn.map((victims) => ({ victims })),
    ...shapes.map((shape) => ({ victims: {}, flood: { shape, channel, messages } })),
    ...requests,
  ];
}

/** The channel that can be flooded in both shapes; undefined = none of these. */
export function floodable(platforms: Stage['platforms']): string | undefined {
  return [...platforms].find(([, { writeInGroup }]) => writeInGroup !== undefined)?.[0];
}

/** Phases with people and numbers of their own. */
class Phases {
  readonly #stage: Stage;
  readonly #options: LoadOptions;
  #people = 0;
  #numbers = 0;

  constructor(stage: Stage, options: LoadOptions) {
    this.#stage = stage;
    this.#options = options;
  }

  async run(victims: Victims, messages: number, { flood, unsigned }: Omit<Round, 'victims'> = {}): Promise<PhaseRecord> {
    const { rate, people, patienceMs, random } = this.#options;
    const channels = [...this.#stage.platforms].map(([name, platform]) => ({
      name,
      ...(platform.people === undefined ? {} : { people: platform.people }),
    }));
    const first = { firstPerson: this.#people, firstNumber: this.#numbers };
    const questions = planTraffic({ channels, messages, rate, people, ...first, random });
    this.#people += people;
    this.#numbers += messages;
    // As long as the others write.
    const overMs = (messages / rate) * 1_000;
    const flooding = flood ? planFlood({ ...flood, overMs }) : [];
    const requests = unsigned === undefined ? undefined : { count: unsigned, overMs };
    return await this.#stage.run(questions, victims, patienceMs, { flood: flooding, ...(requests && { unsigned: requests }) });
  }
}

/**
 * Each channel is in trouble in one round. Those that few troubles can befall are drawn first: a
 * terminal has no connection to break, and mail no limit. Towards the end a trouble may find no channel
 * left that can have it.
 */
export function drawVictims(
  stage: { readonly platforms: ReadonlyMap<string, { readonly faults: readonly string[] }> },
  random: () => number,
): readonly Victims[] {
  const can = (name: string, fault: string): boolean => stage.platforms.get(name)?.faults.includes(fault) ?? false;
  const choices = (name: string): number => Number(can(name, 'disconnect')) + Number(can(name, 'limit'));
  const left = shuffled([...stage.platforms.keys()], random).sort((a, b) => choices(a) - choices(b));
  const take = (fits: (name: string) => boolean): string | undefined => {
    const at = left.findIndex(fits);
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const rounds: Victims[] = [];
  while (left.length > 0) {
    const slow = take((name) => choices(name) === 0) ?? take((name) => choices(name) === 2) ?? take(() => true);
    const flap = take((name) => can(name, 'disconnect'));
    const storm = take((name) => can(name, 'limit'));
    rounds.push({ ...(slow && { slow }), ...(flap && { flap }), ...(storm && { storm }) });
  }
  return rounds;
}

function compare(round: number, quiet: readonly PhaseRecord[], troubled: PhaseRecord, { victims }: Round): readonly Row[] {
  return troubled.channels.map((record): Row => {
    const { channel, latenciesMs } = record;
    const calm = quiet.flatMap((phase) => phase.channels.filter((other) => other.channel === channel));
    const calmMs = calm.flatMap((one) => one.latenciesMs);
    const trouble = (['flap', 'storm', 'slow'] as const).find((kind) => victims[kind] === channel);
    const [quietP50, quietP95] = [percentile(calmMs, 0.5), percentile(calmMs, 0.95)];
    const [p50, p95] = [percentile(latenciesMs, 0.5), percentile(latenciesMs, 0.95)];
    const ratio = p95 / quietP95;
    const faults = [
      ...calm.flatMap((one) => wrong(one, false, 0)).map((fault) => `quiet: ${fault}`),
      ...wrong(record, trouble !== undefined, troubled.unknown),
      ...(trouble === undefined && !(ratio <= MOST_RATIO) ? [`p95 is ${ratio.toFixed(2)} times the quiet one`] : []),
    ];
    return { round, channel, trouble, ...{ quietP50, quietP95, p50, p95, ratio, faults } };
  });
}

function flooderRow(round: number, { shape, channel }: NonNullable<Round['flood']>, { flood }: PhaseRecord): Row {
  const latenciesMs = flood?.record.latenciesMs ?? [];
  const [p50, p95] = [percentile(latenciesMs, 0.5), percentile(latenciesMs, 0.95)];
  const faults = flood ? wrongFlood(flood, shape) : ['nothing was written'];
  return {
    round,
    channel,
    trouble: shape,
    ...{ quietP50: Number.NaN, quietP95: Number.NaN, p50, p95, ratio: Number.NaN, faults },
  };
}

/** None is believed; all of them cost the daemon no more memory than a few connections do. */
function unsignedRow(round: number, count: number, { unsigned, peakMb }: PhaseRecord, quietMb: number): Row {
  const { believed = 0, strayed = 0 } = unsigned ?? {};
  const grownMb = peakMb - quietMb;
  const none = { quietP50: Number.NaN, quietP95: Number.NaN, p50: Number.NaN, p95: Number.NaN, ratio: Number.NaN };
  const faults = [
    ...(unsigned?.count === count ? [] : [`${unsigned?.count ?? 0} of ${count} requests were answered`]),
    ...(believed > 0 ? [`${believed} were believed`] : []),
    ...(strayed > 0 ? [`${strayed} came to no channel`] : []),
    ...(grownMb <= MOST_GROWN_MB ? [] : [`the daemon grew by ${Math.round(grownMb)} MB`]),
  ];
  return { round, channel: 'webhooks', trouble: 'unsigned', ...none, faults };
}

/** A notice is right only where trouble was, a missing answer only where the daemon counts an unknown. */
export function wrong(record: ChannelRecord, inTrouble: boolean, unknown: number): string[] {
  const { missing, strange } = record;
  const excused = inTrouble ? Math.min(missing.length, unknown) : 0;
  return [
    ...(missing.length > excused
      ? [`${missing.length} not answered (${missing.slice(0, 5).join(', ')}), ${excused} unknown`]
      : []),
    ...neverExcused(record),
    ...(strange.length > 0 && !inTrouble ? [`${strange.length} unexpected: ${strange[0]?.slice(0, 80)}`] : []),
  ];
}
