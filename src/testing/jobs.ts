/** Jobs for tests, and a clock whose wall can be set as a person would. */
import type { Authority } from '../core/authority.ts';
import type { Job } from '../core/job.ts';
import type { RunRow } from '../core/run.ts';
import { FakeClock } from './fakes.ts';

export const OWNER: Authority = { principal: 'cli:local', role: 'owner', mode: 'guarded', policies: [] };
export const MEMBER: Authority = { principal: 'test:ada', role: 'member', mode: 'guarded', policies: [] };

export function job(override: Partial<Job> = {}): Job {
  return {
    ...{ id: 'ab12cd34', name: 'plants', schedule: { kind: 'every', ms: 600_000, from: 0 }, timezone: 'UTC' },
    payload: { text: 'water the plants', profile: 'session' },
    ...{ authority: OWNER, taint: 0, missed: 'once', enabled: true, deleteAfterRun: false, runCount: 0, createdAt: 0 },
    ...override,
  };
}

/** What the model is asked; undefined where a message began the run. */
export function promptOf(row: RunRow | undefined): string | undefined {
  return row && !row.message ? row.prompt.text : undefined;
}

/** `advance` moves both clocks; `jump` the wall clock alone. */
export class JumpingClock extends FakeClock {
  #offset = 0;

  override now(): number {
    return super.now() + this.#offset;
  }

  jump(ms: number): void {
    this.#offset += ms;
  }
}
