import { shortHash } from '../../core/ids.ts';
import type { PastCall, Step } from './history.ts';
import { asRecord } from './tool-call-assembly.ts';

/** Which ids of tool calls a provider takes. */
export interface IdRule {
  readonly accepts: RegExp;
  /** Of an id made in place of one that is refused: hexadecimal digits of a hash. */
  readonly length: number;
}

/**
 * The id to send with each past call: the provider's own where the answer goes back to who gave it, else
 * ours, either made anew where the provider would refuse it. The same history gives the same ids, and no two
 * calls share one.
 */
export function sentIds(steps: readonly Step[], rule: IdRule): ReadonlyMap<PastCall, string> {
  const taken = new Set<string>();
  const ids = new Map<PastCall, string>();
  const made = new Map<string, number>(); // in place of each: some servers give every call the same one
  for (const step of steps.filter((one) => one.role === 'assistant')) {
    for (const call of step.calls) {
      const wanted = (step.state === undefined ? undefined : call.providerIds[0]) ?? call.id;
      let [id, n] = [wanted, made.get(wanted) ?? 0];
      for (; !rule.accepts.test(id) || taken.has(id); n += 1) id = shortHash(`${wanted}#${n}`, rule.length);
      made.set(wanted, n);
      taken.add(id);
      ids.set(call, id);
    }
  }
  return ids;
}

/** A string member of a provider state; '' when it is not there. */
export function stateText(step: Extract<Step, { role: 'assistant' }>, key: string): string {
  const value = asRecord(step.state)[key];
  return typeof value === 'string' ? value : '';
}
