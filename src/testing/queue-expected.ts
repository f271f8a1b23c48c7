/** What each queue mode makes of messages that come while the chat is at work (spec A4). */
import type { QueueMode } from '../core/queueing.ts';
import type { Work } from './queue-scene.ts';

/** Stands for the notice that as many turns run as may. */
export const BUSY = 'busy';

interface Asked {
  readonly mode: QueueMode;
  readonly work: Work;
  /** Messages after m0. */
  readonly count: number;
}

/** `m1`, `m2` and so on. */
export const numbers = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `m${i + 1}`);

/** What the chat reads after m0, which it was at work on, and what becomes of each message. */
export interface Expected {
  readonly texts: readonly string[];
  readonly outcomes: readonly string[];
}

/** By spec A4. `crashed`: the daemon ended while it was at work on m0. */
export function expected({ mode, work, count }: Asked, crashed = false): Expected {
  const all = numbers(count);
  const last = `m${count}`;
  const isUnderWay = work !== 'idle' && work !== 'parked';
  const end = work === 'tools' ? ': worked' : work === 'parked' ? ': allow' : '';
  const m0 = work === 'idle' ? [] : [`did m0${end}`];
  const own = work === 'idle' ? [] : ['m0 answered'];
  const answered = (list: readonly string[]) => list.map((m) => `${m} answered`);
  switch (mode) {
    case 'followup':
      return { texts: [...m0, ...all.map((m) => `did ${m}`)], outcomes: [...own, ...answered(all)] };
    case 'collect':
      return {
        texts: [...m0, `did ${all.join('+')}`],
        outcomes: [...own, 'm1 answered', ...all.slice(1).map((m) => `${m} merged`)],
      };
    case 'steer':
      if (isUnderWay) {
        const whole = `did ${['m0', ...all].join('+')}${end}`;
        // A model call that was under way ends, and the next one is told; after a crash the first one is.
        const texts = work === 'running' && !crashed ? [`did m0\n\n${whole}`] : [whole];
        return { texts, outcomes: [...own, ...all.map((m) => `${m} steered`)] };
      }
      return {
        texts: [...m0, `did ${last}`],
        outcomes: [...own, ...all.slice(0, -1).map((m) => `${m} superseded`), `${last} answered`],
      };
    case 'interrupt':
      return {
        texts: [...(work === 'parked' ? m0 : []), `did ${last}`],
        outcomes: [
          ...(isUnderWay ? ['m0 interrupted'] : own),
          ...all.slice(0, -1).map((m) => `${m} superseded`),
          `${last} answered`,
        ],
      };
    case 'speculative': {
      const most = isUnderWay ? 5 : 6;
      const done = all.slice(0, most);
      // Of `all` it is not said which is answered first.
      const late = m0.map((text) =>
        isUnderWay && work !== 'all' ? `↩️ To your earlier message (a later one was answered first):\n\n${text}` : text,
      );
      const texts = [...done.map((m) => `did ${m}`), ...all.slice(most).map(() => BUSY), ...late];
      return { texts, outcomes: [...own, ...answered(done), ...all.slice(most).map((m) => `${m} busy`)] };
    }
  }
}

/** In which order overflow turns are answered is not said. */
export function ordered(mode: QueueMode, texts: readonly string[]): readonly string[] {
  return mode === 'speculative' ? texts.toSorted() : texts;
}
